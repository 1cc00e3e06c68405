package replica

import (
	"bytes"
	"errors"

	"github.com/stoatdb/stoat/replica/internal/session"
)

// Offer returns what Offered does, decoded.
func (e endpoint) Offer(to *session.Reader) (o *session.Offer, reason, err error) {
	offered, reason, err := e.Offered(to)
	if offered == nil {
		return nil, reason, err
	}
	o, failed := session.ParseOffer(bytes.Clone(offered.Encoded))
	return o, reason, errors.Join(err, failed)
}

// sliced stores the slices of an offer, and returns its notice.
func (e endpoint) sliced(o *session.Offer) (*session.Notice, error) {
	offered := session.Cut(o.Checkpoint, o.Append(nil))
	var all [][]byte
	for p := offered.Encoded; len(p) > 0; p = p[min(len(p), session.SliceSize):] {
		all = append(all, p[:min(len(p), session.SliceSize)])
	}
	return &offered.Notice, e.KeepSlices(all)
}

// Begin begins a start as a session does that has been given an offer by a device.
func (e endpoint) Begin(o *session.Offer, from DeviceID) (
	lacks []session.ChunkID, reason, err error,
) {
	notice, err := e.sliced(o)
	if err != nil {
		return nil, nil, err
	}
	_, lacks, reason, err = e.beginAnew(notice, from)
	return lacks, reason, err
}

// installOffer installs what an offer is about, as a session does.
func (e endpoint) installOffer(number uint64, o *session.Offer) error {
	notice, err := e.sliced(o)
	if err != nil {
		return err
	}
	return e.Install(number, notice)
}
