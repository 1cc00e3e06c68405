package manifest

import "encoding/binary"

// Tags of fields. The numbers are stored on disk and never reused.
const (
	tagLogNumber  = 1
	tagLastCommit = 2
	tagNextNumber = 3

	// Only in a version.
	tagDropEpoch = 4
	tagYoung     = 5 // runs: a count, and tables for each
	tagBottom    = 6 // tables
	tagDropped   = 7 // a count, and first, last, and epoch for each

	// Only in an edit.
	tagAddYoung  = 16 // tables
	tagAddBottom = 17 // tables
	tagRemove    = 18 // numbers: a count, and each
	tagDrop      = 19 // numbers
)

// flagCompressed is the only flag of a table so far. Others would announce fields that follow.
const flagCompressed = 1

func appendVersion(dst []byte, v *Version) []byte {
	dst = appendNumber(dst, tagLogNumber, v.LogNumber)
	dst = appendNumber(dst, tagLastCommit, v.LastCommit)
	dst = appendNumber(dst, tagNextNumber, v.NextNumber)
	dst = appendNumber(dst, tagDropEpoch, v.DropEpoch)
	dst = appendCount(dst, tagYoung, len(v.Young))
	for _, r := range v.Young {
		dst = binary.AppendUvarint(dst, uint64(len(r.Tables)))
		dst = appendTables(dst, r.Tables)
	}
	dst = appendCount(dst, tagBottom, len(v.Bottom.Tables))
	dst = appendTables(dst, v.Bottom.Tables)
	dst = appendCount(dst, tagDropped, len(v.Dropped))
	for _, d := range v.Dropped {
		for _, n := range [...]uint64{d.First, d.Last, d.Epoch} {
			dst = binary.AppendUvarint(dst, n)
		}
	}
	return dst
}

func appendEdit(dst []byte, e *Edit) []byte {
	dst = appendNumber(dst, tagLogNumber, e.LogNumber)
	dst = appendNumber(dst, tagLastCommit, e.LastCommit)
	dst = appendNumber(dst, tagNextNumber, e.NextNumber)
	dst = appendCount(dst, tagAddYoung, len(e.AddYoung))
	dst = appendTables(dst, e.AddYoung)
	dst = appendCount(dst, tagAddBottom, len(e.AddBottom))
	dst = appendTables(dst, e.AddBottom)
	dst = appendNumbers(dst, tagRemove, e.Remove)
	return appendNumbers(dst, tagDrop, e.Drop)
}

// appendNumber appends a field, unless it is zero.
func appendNumber(dst []byte, tag, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, tag), n)
}

// appendCount appends the start of a list, which is left out if it is empty.
func appendCount(dst []byte, tag uint64, n int) []byte { return appendNumber(dst, tag, uint64(n)) }

func appendNumbers(dst []byte, tag uint64, numbers []uint64) []byte {
	dst = appendCount(dst, tag, len(numbers))
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func appendTables(dst []byte, tables []*Table) []byte {
	for _, t := range tables {
		var flags uint64
		if t.Compressed {
			flags = flagCompressed
		}
		for _, n := range [...]uint64{
			t.Number, t.Size, t.Entries, t.Tombstones, t.RawBytes, t.DropEpoch, flags,
		} {
			dst = binary.AppendUvarint(dst, n)
		}
		for _, key := range [...][]byte{t.Smallest, t.Largest} {
			dst = append(binary.AppendUvarint(dst, uint64(len(key))), key...)
		}
	}
	return dst
}
