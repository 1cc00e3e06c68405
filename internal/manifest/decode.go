package manifest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// The minimum encoded sizes of list items.
const (
	minTableBytes      = 9 // seven numbers and the lengths of two keys
	minRunBytes        = 2 // two counts
	minDropBytes       = 3
	minValueBytes      = 3
	minShareBytes      = 3
	minBucketBytes     = 6
	minDictionaryBytes = 4
	minSpanBytes       = 2
)

func decodeVersion(p []byte) (*Version, error) {
	v := new(Version)
	d := decoder{rest: p}
	tagged := false
	for d.field() {
		switch d.tag {
		case tagLogNumber:
			v.LogNumber = d.number()
		case tagLastCommit:
			v.LastCommit = d.number()
		case tagNextNumber:
			v.NextNumber = d.number()
		case tagDropEpoch:
			v.DropEpoch = d.number()
		case tagYoung:
			v.Young = d.runs()
		case tagBottom:
			v.Bottom.Tables = d.tables()
		case tagDropped:
			v.Dropped = d.drops()
		case tagValues:
			v.ValueFiles = d.valueFiles()
		case tagDictionaries:
			v.Dictionaries = d.dictionaries()
		case tagBranch:
			v.Branch = d.number()
		case tagBackup:
			is := d.number()
			if is != isBackup && is != notBackup {
				d.unknown("backup", is)
			}
			v.Backup, tagged = is == isBackup, true
		default:
			d.unknown("field", d.tag)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	if !tagged {
		v.Backup = v.untaggedBackup()
	}
	var err error
	if v.ValueFiles, err = v.withValues(v.ValueFiles); err != nil {
		return nil, err
	}
	if v.Dictionaries, err = v.withDictionaries(v.Dictionaries); err != nil {
		return nil, err
	}
	return v, v.Verify()
}

func decodeEdit(p []byte) (*Edit, error) {
	e := new(Edit)
	d := decoder{rest: p}
	for d.field() {
		switch d.tag {
		case tagLogNumber:
			e.LogNumber = d.number()
		case tagLastCommit:
			e.LastCommit = d.number()
		case tagNextNumber:
			e.NextNumber = d.number()
		case tagAddYoung:
			e.AddYoung = d.runs()
		case tagAddBottom:
			e.AddBottom = d.tables()
		case tagRemove:
			e.Remove = d.numbers()
		case tagDrop:
			e.Drop = d.numbers()
		case tagAddValues:
			e.AddValues = d.valueFiles()
		case tagYoungOlder:
			e.RemoveYoung.Older = d.small()
		case tagRemoveYoung:
			e.RemoveYoung.Count = d.small()
		case tagAddDictionaries:
			e.AddDictionaries = d.dictionaries()
		case tagSetDropEpoch:
			e.DropEpoch = d.number()
		case tagSetDropped:
			e.Dropped = d.drops()
		default:
			d.unknown("field", d.tag)
		}
	}
	return e, d.err
}

// decoder reads a payload. After an error it returns zeros.
type decoder struct {
	rest []byte
	tag  uint64 // of the current field
	err  error
}

// field starts the next field, if there is one.
func (d *decoder) field() bool {
	if d.err != nil || len(d.rest) == 0 {
		return false
	}
	before := d.tag
	d.tag = d.number()
	if d.err == nil && d.tag <= before {
		d.fail(fmt.Errorf("field %d follows field %d", d.tag, before))
	}
	return d.err == nil
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail(errors.New("invalid number"))
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// count reads the number of items that follow, each of at least minBytes.
func (d *decoder) count(minBytes int) int {
	n := d.number()
	if n > uint64(len(d.rest)/minBytes) {
		d.fail(fmt.Errorf("%d items do not fit into %d bytes", n, len(d.rest)))
		return 0
	}
	return int(n)
}

func (d *decoder) numbers() []uint64 {
	numbers := make([]uint64, d.count(1))
	for i := range numbers {
		numbers[i] = d.number()
	}
	return numbers
}

func (d *decoder) drops() []Drop {
	drops := make([]Drop, d.count(minDropBytes))
	for i := range drops {
		drops[i] = Drop{d.number(), d.number(), d.number()}
	}
	return drops
}

func (d *decoder) tables() []*Table {
	n := d.count(minTableBytes)
	tables := make([]*Table, 0, n)
	for range n {
		t := &Table{
			Number: d.number(), Size: d.number(), Entries: d.number(), Tombstones: d.number(),
			RawBytes: d.number(), DropEpoch: d.number(),
		}
		flags := d.number()
		if flags > knownFlags {
			d.unknown("flags", flags)
		}
		t.Compressed = flags&flagCompressed != 0
		smallest, largest := d.bytes(), d.bytes()
		both := append(append(make([]byte, 0, len(smallest)+len(largest)), smallest...), largest...)
		t.Smallest, t.Largest = both[:len(smallest):len(smallest)], both[len(smallest):]
		if flags&flagStale != 0 {
			t.StaleAt = d.number()
		}
		if flags&flagValues != 0 {
			for range d.count(minShareBytes) {
				t.Values = append(t.Values, ValueShare{d.number(), d.number(), d.number()})
			}
		}
		if flags&flagBuckets != 0 {
			for range d.count(minBucketBytes) {
				t.Buckets = append(t.Buckets, BucketShare{
					d.number(), d.number(), d.number(), d.number(), d.number(), d.number(),
				})
			}
		}
		if flags&flagDictionaries != 0 {
			t.Dictionaries = d.numbers()
		}
		if d.err != nil {
			return nil
		}
		tables = append(tables, t)
	}
	return tables
}

func (d *decoder) runs() []Run {
	runs := make([]Run, d.count(minRunBytes))
	for i := range runs {
		runs[i].Tables = d.tables()
		n := d.count(minSpanBytes)
		if n > 0 {
			runs[i].Deleted = make(keyspace.Spans, 0, n)
		}
		for range n {
			start, end := bytes.Clone(d.bytes()), bytes.Clone(d.bytes())
			if len(end) == 0 {
				end = nil // no bound
			}
			runs[i].Deleted = append(runs[i].Deleted, keyspace.Span{Start: start, End: end})
		}
		if len(runs[i].Tables) == 0 {
			runs[i].Tables = nil
		}
	}
	return runs
}

func (d *decoder) valueFiles() []ValueFile {
	files := make([]ValueFile, d.count(minValueBytes))
	for i := range files {
		files[i] = ValueFile{Number: d.number(), Size: d.number()}
		switch log := d.number(); log {
		case 0, 1:
			files[i].Log = log == 1
		default:
			d.unknown("kind of value file", log)
		}
	}
	return files
}

// small reads an index or a count of things in memory.
func (d *decoder) small() int {
	n := d.number()
	if n > math.MaxInt32 {
		d.fail(fmt.Errorf("%d is too many", n))
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.count(1)
	p := d.rest[:n]
	d.rest = d.rest[n:]
	return p
}

// unknown fails because only a newer version of Stoat can have written n.
func (d *decoder) unknown(what string, n uint64) {
	d.fail(fmt.Errorf("%s %d, written by a newer version of Stoat: %w", what, n, corrupt.ErrFormat))
}

// fail records err, unless an error is recorded already, and ends the payload.
func (d *decoder) fail(err error) {
	d.err, d.rest = cmp.Or(d.err, err), nil
}
