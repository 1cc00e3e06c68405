package merge

import (
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The forms of a stamp.
const (
	stampNone  = 0 // of an entry up to the checkpoint, which everything later has seen
	stampEntry = 1
)

// Append appends the canonical form of the state, which is the same on all replicas; see
// docs/replica-format.md.
func (r *Record) Append(dst []byte, o Order) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(r.Alive)))
	for i := range r.Alive {
		dst = r.Alive[i].append(dst, o)
	}
	dst = binary.AppendUvarint(dst, uint64(len(r.Fields)))
	for i := range r.Fields {
		f := &r.Fields[i]
		dst = append(wire.AppendBytes(dst, f.Name), byte(f.Kind))
		switch f.Kind {
		case entry.OpSum:
			dst = binary.AppendVarint(dst, f.Sum)
		case entry.OpMax, entry.OpMin:
			dst = append(dst, f.Value...)
		case entry.OpElements, entry.OpEntries:
			dst = binary.AppendUvarint(dst, uint64(len(f.Items)))
			for j := range f.Items {
				dst = appendVersions(append(dst, f.Items[j].Key...), f.Items[j].Versions, o)
			}
		default:
			dst = appendVersions(dst, f.Versions, o)
		}
	}
	return dst
}

func (s *Stamp) append(dst []byte, o Order) []byte {
	if *s == (Stamp{}) {
		return append(dst, stampNone)
	}
	id := o.ID(s.Log)
	dst = binary.BigEndian.AppendUint64(append(dst, stampEntry), uint64(s.Time))
	dst = append(dst, id[:]...)
	return binary.AppendUvarint(dst, s.Seq)
}

func appendVersions(dst []byte, versions []Version, o Order) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(versions)))
	for i := range versions {
		dst = append(versions[i].Stamp.append(dst, o), versions[i].Value...)
	}
	return dst
}
