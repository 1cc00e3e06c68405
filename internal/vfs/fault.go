package vfs

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
)

// ErrFault reports that the disk or the file failed under a memory map.
var ErrFault = errors.New("memory map cannot be read")

// CatchFaults calls fn and returns its error. If fn reads a memory map where the disk or the file
// fails, which is a fault of the processor, the error is ErrFault; any other panic goes on.
func CatchFaults(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			if err = FaultError(r); err == nil {
				panic(r)
			}
		}
	}()
	return fn()
}

// FaultError returns an ErrFault for a recovered panic if that was a fault in a memory map, and nil
// if it was anything else. Faults are panics only where debug.SetPanicOnFault says so.
func FaultError(recovered any) error {
	fault, ok := recovered.(interface {
		runtime.Error
		Addr() uintptr
	})
	if !ok {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrFault, fault)
}
