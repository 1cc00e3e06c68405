//go:build !rocksdb || !cgo

package engine

func rocksdbEngine() Engine {
	const missing = "built without RocksDB; install librocksdb-dev and run make bench-cgo"
	return Engine{About: About{Name: "rocksdb", Missing: missing}}
}
