package run

import (
	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// Values says what becomes of large values. The zero value leaves them all where they are.
type Values struct {
	// Separate is the length from which values go to value files; 0 means that none do. If Shrink
	// is set, values that shrink stay in tables, where they are compressed, at the latest in the
	// bottom run.
	Separate  int
	Shrink    bool
	FileBytes int64 // a value file ends when it reaches this size

	// Relocate reports whether to rewrite all values in a file, and Recheck those that belong in
	// tables; nil functions rewrite none. Read returns the value of the entry that is being added.
	Relocate func(file uint64) bool
	Recheck  func(file uint64) bool
	Read     func() ([]byte, error)

	// MostBytes ends relocating once the relocated values have so many bytes; 0 is no limit.
	MostBytes uint64
}

// Shrinks reports whether a value is likely to be much smaller when compressed. Then it belongs in
// a block, however large it is: compactions copy such blocks as they are.
func Shrinks(value []byte) bool { return !block.LooksRandom(value) }

// Outside reports whether a value belongs in a value file, not in a table.
func (c *Config) Outside(value []byte) bool {
	v := &c.Values
	return v.Separate > 0 && len(value) >= v.Separate && !(v.Shrink && Shrinks(value))
}

// valueWriter writes the value files of a run.
type valueWriter struct {
	files
	finished  []manifest.ValueFile
	writer    *valuelog.Writer // of the open file; nil between files
	pointer   [valuelog.PointerBytes]byte
	relocated uint64 // bytes of values
}

// separate returns the entry for the table. If its value belongs in a value file, it writes the
// value there and returns a pointer, which is valid until the next call.
func (v *valueWriter) separate(e keyspace.Entry) (keyspace.Entry, error) {
	if e.Kind == keyspace.KindPointer {
		var err error
		if e, err = v.fetch(e); err != nil {
			return e, err
		}
	}
	if e.Kind != keyspace.KindPut || e.Dictionary != 0 || !v.config.Outside(e.Value) {
		return e, nil
	}
	if v.writer == nil {
		if err := v.create(); err != nil {
			return e, err
		}
		v.writer = valuelog.NewWriter(v.file, v.number, v.config.Database)
	}
	p, err := v.writer.Append(e.Value)
	if err != nil {
		return e, v.failed(err)
	}
	e.Kind, e.Value = keyspace.KindPointer, p.Append(v.pointer[:0])
	if v.writer.Size() < v.config.Values.FileBytes {
		return e, nil
	}
	return e, v.end()
}

// fetch returns the entry of a pointer with its value, if the value is to be rewritten.
func (v *valueWriter) fetch(e keyspace.Entry) (keyspace.Entry, error) {
	c := &v.config.Values
	if c.Relocate == nil && c.Recheck == nil {
		return e, nil
	}
	p, err := valuelog.ParsePointer(e.Value)
	if err != nil {
		return e, err
	}
	relocate := c.Relocate != nil && c.Relocate(p.File) &&
		(c.MostBytes == 0 || v.relocated < c.MostBytes)
	if !relocate && (c.Recheck == nil || !c.Recheck(p.File)) {
		return e, nil
	}
	value, err := c.Read()
	if err != nil || !relocate && v.config.Outside(value) {
		return e, err
	}
	if relocate {
		v.relocated += uint64(len(value))
	}
	e.Kind, e.Value = keyspace.KindPut, value
	return e, nil
}

func (v *valueWriter) end() error {
	if v.writer == nil {
		return nil
	}
	size, err := v.writer.Finish()
	if err != nil {
		return v.failed(err)
	}
	v.writer = nil
	v.finished = append(v.finished, manifest.ValueFile{Number: v.number, Size: size})
	return v.complete()
}
