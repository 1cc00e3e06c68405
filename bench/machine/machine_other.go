//go:build !linux

package machine

import (
	"io/fs"
	"os"
)

func usage() (Usage, error) { return Usage{}, nil }

func anonymous(size int) ([]byte, error) { return make([]byte, size), nil }

func syncData(f *os.File) error { return f.Sync() }

func syncDisks() {}

func allocated(fs.FileInfo) int64 { return 0 }

func describe() Description { return Description{} }

func capMemory(int64) (func() error, error) {
	return nil, ErrNoCap
}

func removeCap(int) error { return nil }

func dropCache(string) error { return nil }

func cachedBytes(string) (int64, error) { return 0, nil }

func fileSystem(string) string { return "" }
