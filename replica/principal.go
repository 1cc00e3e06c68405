package replica

import (
	"errors"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Principal is to whom a right is granted: a [DeviceID], or [Anyone].
type Principal interface {
	// principal returns the principal as acts have it.
	principal() entry.Principal
}

// everyone is the principal that every device is.
type everyone uint8

// Anyone stands for every device, also those that come later.
const Anyone everyone = 0

func (everyone) principal() entry.Principal { return entry.Principal{Anyone: true} }

func (id DeviceID) principal() entry.Principal { return entry.Principal{Device: id} }

// String returns "anyone".
func (everyone) String() string { return "anyone" }

// errNobody reports a principal that is not set.
var errNobody = errors.New("the principal is not set: give the id of a device, or Anyone")

// principalOf returns a principal as acts have it, or an error if it is not set.
func principalOf(p Principal) (entry.Principal, error) {
	if id, ok := p.(*DeviceID); p == nil || ok && id == nil {
		return entry.Principal{}, errNobody
	}
	return p.principal(), nil
}
