package merge

import (
	"bytes"
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/value"
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

// ParseNormal sets an empty record to the canonical form of a state that is normal: see Normalise.
// It refers to p. An empty state is refused.
func (r *Record) ParseNormal(p []byte) error {
	in := wire.NewReader(p)
	if n := in.Count(1, 1); n > 0 {
		r.Alive = append(r.Alive, takeNone(&in))
	}
	n := in.Count(listMax, 3)
	if n+len(r.Alive) == 0 {
		in.Fail("a state is empty")
	}
	for range n {
		f := Field{Name: r.name(in.Bytes(1, entry.FieldMax)), Kind: entry.OpKind(in.Byte())}
		f.takeNormal(r, &in)
		if in.Err() != nil {
			break
		}
		if k := len(r.Fields); k > 0 && compareFields(r.Fields[k-1], f) >= 0 {
			in.Fail("the fields of a state are not sorted")
		}
		if f.empty() || len(r.Alive) == 0 && f.Kind != entry.OpSum {
			in.Fail("a state has a field that it should not have")
		}
		r.Fields = append(r.Fields, f)
	}
	return in.End()
}

// takeNone reads the stamp that normal states have.
func takeNone(r *wire.Reader) Stamp {
	if r.Byte() != stampNone {
		r.Fail("a state up to a checkpoint has the stamp of an entry")
	}
	return Stamp{}
}

// takeNormal reads the state of a field of a record.
func (f *Field) takeNormal(rec *Record, r *wire.Reader) {
	switch f.Kind {
	case entry.OpSet:
		f.Versions = rec.takeValues(r, 1, versionValues)
	case entry.OpKeep:
		f.Versions = rec.takeValues(r, listMax, versionValues)
	case entry.OpSum:
		f.Sum = r.Varint()
	case entry.OpMax, entry.OpMin:
		f.Value = value.TakeScalar(r)
	case entry.OpElements, entry.OpEntries:
		for range r.Count(entry.SizeMax, 3) {
			item := Item{Key: value.TakeScalar(r)}
			item.Versions = rec.takeValues(r, 1, versionForm(f.Kind == entry.OpEntries))
			if k := len(f.Items); k > 0 && bytes.Compare(f.Items[k-1].Key, item.Key) >= 0 {
				r.Fail("the items of a state are not sorted")
			}
			if f.Items = append(f.Items, item); r.Err() != nil {
				return
			}
		}
	default:
		r.FailWith(entry.ErrNewer)
	}
}

// versionForm says whether versions have values.
type versionForm bool

const (
	versionValues versionForm = true
	versionNone   versionForm = false
)

// takeValues reads versions, at least one and at most most.
func (rec *Record) takeValues(r *wire.Reader, most int, form versionForm) []Version {
	n := r.Count(most, 1)
	if n == 0 {
		r.Fail("a value has no versions")
		return nil
	}
	versions := rec.versions(n)
	for i := range versions {
		versions[i].Stamp = takeNone(r)
		if form == versionValues {
			versions[i].Value = value.Take(r)
		}
	}
	return versions
}
