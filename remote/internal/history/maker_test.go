package history

import (
	"testing"

	"github.com/stoatdb/stoat/remote/internal/object"
)

func TestMaker_isTheNewestClaimThatMayHaveMadeAFile(t *testing.T) {
	claims := Claims{
		{Epoch: 1, ID: object.ID{1}}, {Epoch: 2, ID: object.ID{2}}, {Epoch: 5, ID: object.ID{5}},
	}
	for epoch, want := range [][16]byte{{}, {1}, {2}, {2}, {2}, {5}, {5}} {
		if got := claims.Maker(uint64(epoch)<<EpochShift | 7); got != want {
			t.Errorf("the file of epoch %d was made under claim %x, want %x", epoch, got, want)
		}
	}
}
