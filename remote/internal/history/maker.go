package history

import (
	"slices"

	"github.com/stoatdb/stoat/remote/internal/object"
)

// Claims is claims of a log in their order. Immutable.
type Claims []object.ClaimAt

// Maker returns the id of the newest claim whose writer may have made a file; zero if there is
// none.
//
// In two copies of a store that were written on apart, it differs unless the file is the same. The
// epoch of the writer that has made the file is not above that of the file: so its claim is the
// newest such one, or a later one of the same copy is.
func (c Claims) Maker(file uint64) [16]byte {
	for _, claim := range slices.Backward(c) {
		if claim.Epoch <= file>>EpochShift {
			return claim.ID
		}
	}
	return [16]byte{}
}
