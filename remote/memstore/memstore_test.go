package memstore_test

import (
	"testing"

	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

func TestStore_conforms(t *testing.T) {
	remotetest.Run(t, func(*testing.T) objstore.Store { return memstore.New() })
}

func TestStore_passesTheProbe(t *testing.T) {
	if err := objstore.Probe(t.Context(), memstore.New()); err != nil {
		t.Error(err)
	}
}
