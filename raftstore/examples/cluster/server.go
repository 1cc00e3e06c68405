package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/raftstore"
)

// plan is what a server does.
type plan struct {
	Dir   string
	Index int      // of its address
	Peers []string // the addresses of all servers
	Life  int      // how often it was started before, so that its commands have names of their own
}

// endCommand is the last command of the cluster.
const endCommand = "end"

// server is a running server.
type server struct {
	raft    *raft.Raft
	machine *raftstore.Machine
	logs    *stoat.DB
}

// open starts a server. What it stores is in three places: the log and the votes in one database,
// the state in another one, and snapshots in files.
func (p *plan) open() (s *server, err error) {
	s = new(server)
	if s.logs, err = stoat.Open(filepath.Join(p.Dir, "log"), nil); err != nil {
		return nil, err
	}
	store, err := raftstore.New(s.logs, "raft")
	if err != nil {
		return nil, err
	}
	s.machine, err = raftstore.OpenMachine(filepath.Join(p.Dir, "state"), nil, appendCommand)
	if err != nil {
		return nil, err
	}
	snapshots, err := raft.NewFileSnapshotStore(p.Dir, 2, io.Discard)
	if err != nil {
		return nil, err
	}
	address := p.Peers[p.Index]
	transport, err := raft.NewTCPTransport(address, nil, 2, time.Second, io.Discard)
	if err != nil {
		return nil, err
	}
	config := configuration(address)
	if config.NoSnapshotRestoreOnStart, err = s.machine.Holds(snapshots); err != nil {
		return nil, err
	}
	s.raft, err = raft.NewRaft(config, s.machine, store, store, snapshots, transport)
	if err != nil {
		return nil, err
	}
	err = s.raft.BootstrapCluster(p.members()).Error()
	if errors.Is(err, raft.ErrCantBootstrap) {
		err = nil // it has a log
	}
	return s, err
}

// configuration has short times and many snapshots, so that an example shows both.
func configuration(address string) *raft.Config {
	c := raft.DefaultConfig()
	c.LocalID = raft.ServerID(address)
	c.HeartbeatTimeout, c.ElectionTimeout = 400*time.Millisecond, 400*time.Millisecond
	c.LeaderLeaseTimeout, c.CommitTimeout = 200*time.Millisecond, 5*time.Millisecond
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 300*time.Millisecond, 100, 30
	c.Logger = hclog.NewNullLogger()
	return c
}

func (p *plan) members() (c raft.Configuration) {
	for _, address := range p.Peers {
		c.Servers = append(c.Servers, raft.Server{
			ID: raft.ServerID(address), Address: raft.ServerAddress(address),
		})
	}
	return c
}

// listName is the bucket of the state that has the commands.
const listName = "list"

// appendCommand appends a command to the list.
func appendCommand(tx *stoat.Tx, command *raft.Log) any {
	b, err := tx.CreateBucketIfNotExists([]byte(listName))
	if err != nil {
		return err
	}
	n, err := b.NextSequence()
	if err != nil {
		return err
	}
	return b.Put(fmt.Appendf(nil, "%012d", n), command.Data)
}

// lastCommand returns the command at the end of the list.
func lastCommand(m *raftstore.Machine) (last string) {
	err := m.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte(listName))
		if err != nil {
			return err
		}
		for _, value := range b.Scan(stoat.Range{Reverse: true, Limit: 1}) {
			last = string(value)
		}
		return nil
	})
	if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
		slog.Error("read the state", "error", err)
	}
	return last
}

// run is the life of a server: it proposes commands while it leads, prints those that are
// acknowledged, and ends the list when it is told so by a line. Once the list has an end here, it
// says so. It ends with its input.
func (p *plan) run() error {
	s, err := p.open()
	if err != nil {
		return err
	}
	var ending atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		input := bufio.NewScanner(os.Stdin)
		for input.Scan() {
			ending.Store(true)
		}
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	told := false
	for n := 0; ; {
		select {
		case <-ended:
			return s.close()
		case <-tick.C:
		}
		if ending.Load() && !told && lastCommand(s.machine) == endCommand {
			told = true
			fmt.Println("ended")
		}
		for s.raft.State() == raft.Leader && !told {
			command := fmt.Sprintf("%d.%d.%d", p.Index, p.Life, n)
			if n++; ending.Load() {
				command = endCommand
			}
			if s.raft.Apply([]byte(command), time.Second).Error() != nil || command == endCommand {
				break // unknown: it may be applied later, or never
			}
			fmt.Println("acked", command)
		}
	}
}

func (s *server) close() error {
	return errors.Join(s.raft.Shutdown().Error(), s.machine.Close(), s.logs.Close())
}
