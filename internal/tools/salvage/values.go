package salvage

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
)

// values finds the values of entries, wherever they are stored.
type values struct {
	original     *original
	dictionaries map[uint64]*block.Dictionary

	number uint64   // of the file that was read last
	name   string   // its name; "" if there is none
	file   vfs.File // nil if it is not open
	size   int64    // of the file
}

// of returns the value of an entry that is not a tombstone, or what is wrong with it.
func (v *values) of(e keyspace.Entry) (value []byte, problem string) {
	switch {
	case e.Kind == keyspace.KindPointer:
		p, err := valuelog.ParsePointer(e.Value)
		if err != nil {
			return nil, err.Error()
		}
		return v.read(p)
	case e.Dictionary == 0:
		return e.Value, ""
	}
	d := v.dictionaries[e.Dictionary]
	if d == nil {
		return nil, fmt.Sprintf("dictionary %06d, which it is encoded with, is lost", e.Dictionary)
	}
	value, err := d.Decode(nil, e.Value, int(e.Length))
	if err != nil {
		return nil, fmt.Sprintf("it cannot be decoded: %v", err)
	}
	return value, ""
}

func (v *values) read(p valuelog.Pointer) (value []byte, problem string) {
	if v.file == nil || v.number != p.File {
		v.close()
		v.open(p.File)
	}
	switch {
	case v.name == "":
		return nil, fmt.Sprintf("%s, where it lies, is missing", folder.Values.Name(p.File))
	case v.file == nil:
		return nil, fmt.Sprintf("%s, where it lies, cannot be opened", v.name)
	case int64(p.Offset)+int64(p.Length) > v.size:
		return nil, fmt.Sprintf("%s, where it lies, is cut off before it ends", v.name)
	}
	value = make([]byte, p.Length)
	if n, err := v.file.ReadAt(value, int64(p.Offset)); n < len(value) {
		return nil, fmt.Sprintf("%s cannot be read at offset %d: %v", v.name, p.Offset, err)
	}
	if valuelog.NewPointer(p.File, p.Offset, value) != p {
		return nil, fmt.Sprintf("%s is damaged at offset %d", v.name, p.Offset)
	}
	return value, ""
}

// open makes the file with that number the current one, if it can be opened.
func (v *values) open(number uint64) {
	v.number, v.name = number, ""
	kind, ok := v.original.valueFile(number)
	if !ok {
		return
	}
	v.name = kind.Name(number)
	file, err := v.original.Open(v.original.path(v.name))
	if err != nil {
		return
	}
	v.file = file
	if v.size, err = file.Size(); err != nil {
		v.close()
	}
}

func (v *values) close() {
	if v.file != nil {
		_ = v.file.Close() // it was only read
		v.file = nil
	}
}
