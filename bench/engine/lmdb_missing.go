//go:build !lmdb || !cgo

package engine

func lmdbEngine() Engine {
	const missing = "built without LMDB; install liblmdb-dev and run make bench-cgo"
	return Engine{About: About{Name: "lmdb", Missing: missing}}
}
