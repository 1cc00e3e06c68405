package datastore

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs"
)

// fault is the panic of a read where the disk fails under a memory map.
type fault struct{}

func (fault) Error() string { return "unexpected fault address" }

func (fault) RuntimeError() {}

func (fault) Addr() uintptr { return 1 }

func TestTxn_returnsFaultsOfTheDisk(t *testing.T) {
	err := new(txn).do(t.Context(), func(*stoat.Tx) error { panic(fault{}) })
	if !errors.Is(err, vfs.ErrFault) || !errors.Is(err, fault{}) {
		t.Errorf("a read that faults returns %v, want %v and the fault", err, vfs.ErrFault)
	}
}
