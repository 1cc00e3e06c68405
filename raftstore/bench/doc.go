// Package bench has only a benchmark: that of package raft, on raftstore and on raft-boltdb. Beside
// raftstore, it would make "go mod tidy" of each program that uses raftstore look for what
// raft-boltdb needs.
package bench
