//go:build !unix || aix || 386 || arm || mips || mipsle

package vfs

import "os"

// mapFile maps nothing: either the platform has no maps that outlive their file, or its address
// space is too small for them.
func mapFile(*os.File, int64) (data []byte, unmap func() error, err error) {
	return nil, nil, ErrNoMap
}

func unloadMap([]byte) {}
