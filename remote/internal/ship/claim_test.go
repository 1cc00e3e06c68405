package ship

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
)

// TestContinues_refusesAFolderOnceAnotherWriterHasWritten lets another writer take over after
// commit 5, which commits nothing.
func TestContinues_refusesAFolderOnceAnotherWriterHasWritten(t *testing.T) {
	own, next := object.ID{1}, object.ID{2}
	s := &object.State{
		Header: object.Header{Number: 3}, Commit: 5,
		Claims: []object.ClaimAt{{Number: 1, Epoch: 1, ID: own}, {Number: 3, Epoch: 2, ID: next}},
		Ends:   []object.Branch{{Branch: 7, End: 5}},
	}
	last, found := object.ClaimAt{Number: 1, ID: own}, engine.Found{Dir: "db", Commit: 5}
	ok(t, continues(s, last, found))
	s.Number = 4 // an edit, or an unlink bound
	if err := continues(s, last, found); !errors.Is(err, ErrApart) {
		t.Errorf("the error is %v", err)
	}
	s.Void = []uint64{4} // of the writer before
	ok(t, continues(s, last, found))
}

func TestClaim_refusesEpochsWithoutNumbersOfFiles(t *testing.T) {
	const epochMax = 1<<(62-history.EpochShift) - 1 // numbers of files have 62 bits
	var s Shipper
	for epoch, fine := range map[uint64]bool{epochMax - 1: true, epochMax: false} {
		state := history.Start([16]byte{1})
		state.Epoch = epoch
		if _, err := s.Successor(state); (err == nil) != fine {
			t.Errorf("after epoch %d: %v", epoch, err)
		}
	}
}
