package superversion

import (
	"errors"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Scratch is memory for values that have to be decoded.
type Scratch = block.Scratch

// Exists reports whether an entry says that its key exists: it is no tombstone and has not expired.
func (l *Levels) Exists(e *keyspace.Entry) bool {
	return e.Kind != keyspace.KindDelete && (e.Until == 0 || e.Until > l.now())
}

// Value returns the value of an entry; ok is false if the entry says that its key does not exist.
// The value must not be modified. It stays valid as long as the Superversion of the entry is
// reachable and, if it had to be decoded, until scratch is reset. With a nil scratch it is decoded
// into new memory.
func (l *Levels) Value(
	e *keyspace.Entry, scratch *Scratch,
) (value []byte, ok bool, err error) {
	if e.Kind == keyspace.KindPut && e.Until == 0 && e.Dictionary == 0 {
		return e.Value, true, nil
	}
	if !l.Exists(e) {
		return nil, false, nil
	}
	value, err = l.Resolve(e, scratch)
	return value, err == nil, err
}

// Size returns the length of the value of an entry; ok is false if the entry says that its key does
// not exist.
func (l *Levels) Size(e *keyspace.Entry) (size int, ok bool, err error) {
	switch {
	case !l.Exists(e):
		return 0, false, nil
	case e.Kind != keyspace.KindPointer:
		return e.Size(), true, nil
	}
	p, err := valuelog.ParsePointer(e.Value)
	if err != nil {
		return 0, false, corrupt.New("a table", 0, "%v", err)
	}
	return int(p.Length), true, nil
}

// Resolve is Value for an entry that is no tombstone, expired or not.
func (l *Levels) Resolve(e *keyspace.Entry, scratch *Scratch) ([]byte, error) {
	if e.Kind != keyspace.KindPointer {
		return l.decode(e, scratch)
	}
	p, err := valuelog.ParsePointer(e.Value)
	if err != nil {
		return nil, corrupt.New("a table", 0, "%v", err)
	}
	file := l.values[p.File]
	if file == nil {
		return nil, corrupt.New("a table", 0, "it points into value file %06d, which the manifest "+
			"does not name", p.File)
	}
	return file.Read(p)
}

func (l *Levels) decode(e *keyspace.Entry, scratch *Scratch) (value []byte, err error) {
	if e.Dictionary == 0 {
		return e.Value, nil
	}
	d := l.dictionary(e.Dictionary)
	if d == nil {
		return nil, corrupt.New("a table", 0, "it refers to dictionary %06d, which the manifest does "+
			"not have", e.Dictionary)
	}
	err = vfs.CatchFaults(func() (err error) { // the encoded value may lie in a map
		value, err = scratch.Decode(d, e.Value, e.Size())
		return err
	})
	if err != nil && !errors.Is(err, vfs.ErrFault) {
		err = corrupt.New("a table", 0, "%v", err)
	}
	return value, err
}

// Dictionaries returns the dictionaries of the version, in order of their numbers.
func (l *Levels) Dictionaries() []*block.Dictionary { return l.dictionaries }

// dictionary returns the dictionary with the given number, or nil.
func (l *Levels) dictionary(number uint64) *block.Dictionary {
	for _, d := range l.dictionaries {
		if d.Number == number {
			return d
		}
	}
	return nil
}

// takeDictionaries sets the dictionaries of the version, and shares those that old has.
func (l *Levels) takeDictionaries(old *Levels) {
	for _, d := range l.Version.Dictionaries {
		known := old.dictionary(d.Number)
		if known == nil {
			known = block.NewDictionary(d.Number, d.Bucket, d.Fit, d.Data)
		}
		l.dictionaries = append(l.dictionaries, known)
	}
}
