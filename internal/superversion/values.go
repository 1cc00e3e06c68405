package superversion

import (
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// Exists reports whether an entry says that its key is there: it is no tombstone, and it has not
// expired.
func (l *Levels) Exists(e keyspace.Entry) bool {
	return e.Kind != keyspace.KindDelete && (e.Until == 0 || e.Until > l.now())
}

// Value returns the value that an entry stands for; ok is false if the key is not there. It is
// valid as long as the Superversion that the entry is from is reachable, and must not be modified.
func (l *Levels) Value(e keyspace.Entry) (value []byte, ok bool, err error) {
	if e.Kind == keyspace.KindPut && e.Until == 0 {
		return e.Value, true, nil
	}
	if !l.Exists(e) {
		return nil, false, nil
	}
	value, err = l.Resolve(e)
	return value, err == nil, err
}

// Resolve returns the value of an entry that is no tombstone, expired or not.
func (l *Levels) Resolve(e keyspace.Entry) ([]byte, error) {
	if e.Kind != keyspace.KindPointer {
		return e.Value, nil
	}
	p, err := valuelog.ParsePointer(e.Value)
	if err != nil {
		return nil, corrupt.New("a table", 0, "%v", err)
	}
	file := l.values[p.File]
	if file == nil {
		return nil, corrupt.New("a table", 0, "it points into value file %06d, which the manifest does "+
			"not name", p.File)
	}
	return file.Read(p)
}
