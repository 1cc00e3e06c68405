package intake

import (
	"encoding/binary"
	"errors"

	"github.com/stoatdb/stoat"
)

// numbers is a range of numbered entries, both ends included.
type numbers struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

// appendEntry stores value after the numbered entries of a bucket and returns its number: 0, 1, 2,
// and so on. The key is the number as 8 bytes, big-endian; the bucket's sequence counts them. A
// redacted entry takes a number and stores nothing.
func appendEntry(in Space, value []byte, redacted bool) (uint64, error) {
	n, err := in.NextSequence()
	if err != nil || redacted {
		return n - 1, err
	}
	return n - 1, in.Put(binary.BigEndian.AppendUint64(nil, n-1), value)
}

// removeEntries removes entries that appendEntry stored. The last numbers are used again, unless
// other entries were appended since.
func removeEntries(in Space, taken []numbers) error {
	for i := len(taken) - 1; i >= 0; i-- {
		first, last := taken[i].First, taken[i].Last
		err := in.DeleteRange(stoat.Range{
			Start: binary.BigEndian.AppendUint64(nil, first),
			End:   append(binary.BigEndian.AppendUint64(nil, last), 0),
		})
		count, countErr := in.Sequence()
		if err == nil && countErr == nil && count == last+1 {
			err = in.SetSequence(first)
		}
		if err := errors.Join(err, countErr); err != nil {
			return err
		}
	}
	return nil
}
