package manifest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

type Table struct {
	Number, Size, Entries, Tombstones, RawBytes, DropEpoch uint64
	Compressed                                             bool
	Smallest, Largest                                      []byte
}
type Run struct{ Tables []*Table }
type Drop struct{ First, Last, Epoch uint64 }
type Version struct {
	Young                             []Run
	Bottom                            Run
	LogNumber, LastCommit, NextNumber uint64
	Dropped                           []Drop
	DropEpoch                         uint64
}
type Edit struct {
	AddYoung, AddBottom               []*Table
	Remove                            []uint64
	LogNumber, LastCommit, NextNumber uint64
	Drop                              []uint64
}

func (v *Version) Apply(e *Edit) (*Version, error) {
	n := *v
	removed := map[uint64]bool{}
	for _, r := range e.Remove {
		removed[r] = true
	}
	keep := func(ts []*Table) (out []*Table) {
		for _, t := range ts {
			if removed[t.Number] {
				delete(removed, t.Number)
			} else {
				out = append(out, t)
			}
		}
		return
	}
	n.Young = nil
	if len(e.AddYoung) > 0 {
		n.Young = append(n.Young, Run{e.AddYoung})
	}
	for _, r := range v.Young {
		if ts := keep(r.Tables); len(ts) > 0 {
			n.Young = append(n.Young, Run{ts})
		}
	}
	n.Bottom = Run{append(keep(v.Bottom.Tables), e.AddBottom...)}
	slices.SortFunc(n.Bottom.Tables, func(a, b *Table) int { return bytes.Compare(a.Smallest, b.Smallest) })
	for i := 1; i < len(n.Bottom.Tables); i++ {
		if bytes.Compare(n.Bottom.Tables[i-1].Largest, n.Bottom.Tables[i].Smallest) >= 0 {
			return nil, fmt.Errorf("bottom overlap")
		}
	}
	if len(removed) > 0 {
		return nil, fmt.Errorf("removed tables missing")
	}
	if e.LogNumber != 0 {
		n.LogNumber = e.LogNumber
	}
	if e.LastCommit != 0 {
		n.LastCommit = e.LastCommit
	}
	if e.NextNumber != 0 {
		n.NextNumber = e.NextNumber
	}
	if len(e.Drop) > 0 {
		n.DropEpoch++
		n.Dropped = slices.Clone(n.Dropped)
		for _, d := range e.Drop {
			n.Dropped = append(n.Dropped, Drop{d, d, n.DropEpoch})
		}
	}
	var live []Drop
	for _, d := range n.Dropped {
		for t := range n.Tables() {
			hit := false
			if t.DropEpoch < d.Epoch {
				for _, r := range keyspace.Ranges(d.First, d.Last) {
					hit = hit || bytes.Compare(t.Largest, r[0]) >= 0 && bytes.Compare(t.Smallest, r[1]) < 0
				}
			}
			if hit {
				live = append(live, d)
				break
			}
		}
	}
	n.Dropped = live
	return &n, nil
}
func (v *Version) Tables() iter.Seq[*Table] {
	return func(yield func(*Table) bool) {
		for _, r := range append(slices.Clone(v.Young), v.Bottom) {
			for _, t := range r.Tables {
				if !yield(t) {
					return
				}
			}
		}
	}
}
func (v *Version) IsDropped(id uint64) bool {
	for _, d := range v.Dropped {
		if d.First <= id && id <= d.Last {
			return true
		}
	}
	return false
}

type State struct {
	Number   uint64
	Database [16]byte
	Version  *Version
	Torn     bool
}

func frame(v any) []byte {
	p, _ := json.Marshal(v)
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(p)))
	b = binary.LittleEndian.AppendUint32(b, checksum.Of(p))
	return append(b, p...)
}
func next(data []byte, v any) ([]byte, bool) {
	if len(data) < 8 {
		return nil, false
	}
	n := int(binary.LittleEndian.Uint32(data))
	if n > len(data)-8 || checksum.Of(data[8:8+n]) != binary.LittleEndian.Uint32(data[4:]) {
		return nil, false
	}
	return data[8+n:], json.Unmarshal(data[8:8+n], v) == nil
}

type first struct {
	DB      [16]byte
	Version *Version
}

func Load(files vfs.FS, dir string) (*State, error) {
	names, err := files.List(dir)
	if err != nil {
		return nil, err
	}
	found := false
	for _, name := range slices.Backward(names) {
		number, ok := ParseName(name)
		if !ok {
			continue
		}
		found = true
		f, err := files.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		size, _ := f.Size()
		data := make([]byte, size)
		f.ReadAt(data, 0)
		var s first
		rest, ok := next(data, &s)
		if !ok {
			continue
		}
		for {
			var e Edit
			r, ok := next(rest, &e)
			if !ok {
				break
			}
			rest = r
			if s.Version, err = s.Version.Apply(&e); err != nil {
				return nil, err
			}
		}
		return &State{Number: number, Database: s.DB, Version: s.Version}, nil
	}
	_ = found
	return nil, fs.ErrNotExist
}

type Journal struct {
	f    vfs.File
	size int64
}

func Create(fs vfs.FS, dir string, number uint64, db [16]byte, v *Version) (*Journal, error) {
	f, err := fs.Create(filepath.Join(dir, Name(number)))
	if err != nil {
		return nil, err
	}
	j := &Journal{f: f}
	if err := j.write(frame(first{db, v})); err != nil {
		return nil, err
	}
	return j, fs.SyncDir(dir)
}
func (j *Journal) write(b []byte) error {
	if _, err := j.f.WriteAt(b, j.size); err != nil {
		return err
	}
	j.size += int64(len(b))
	return j.f.Sync()
}
func (j *Journal) Append(e *Edit) error { return j.write(frame(e)) }
func (j *Journal) Size() int64          { return j.size }
func (j *Journal) Close() error         { return j.f.Close() }
func Name(n uint64) string              { return fmt.Sprintf("MANIFEST-%06d", n) }
func ParseName(n string) (uint64, bool) {
	d, ok := strings.CutPrefix(n, "MANIFEST-")
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseUint(d, 10, 64)
	return v, err == nil
}

var _ = corrupt.Err
