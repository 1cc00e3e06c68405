package manifest

import "encoding/binary"

// Tags of fields. The numbers are stored on disk and never reused.
const (
	tagLogNumber  = 1
	tagLastCommit = 2
	tagNextNumber = 3

	// Only in a version.
	tagDropEpoch    = 4
	tagYoung        = 5 // runs: a count, and tables for each
	tagBottom       = 6 // tables
	tagDropped      = 7 // a count, and first, last, and epoch for each
	tagValues       = 8 // value files: a count, and number, size, and whether it is a log for each
	tagDictionaries = 9 // dictionaries: a count, and number, bucket, length and bytes for each
	tagBranch       = 10
	tagBackup       = 11 // isBackup or notBackup

	// Only in an edit.
	tagAddYoung        = 16 // runs
	tagAddBottom       = 17 // tables
	tagRemove          = 18 // numbers: a count, and each
	tagDrop            = 19 // numbers
	tagAddValues       = 20 // value files
	tagYoungOlder      = 21 // the older and the count of the young runs to remove
	tagRemoveYoung     = 22
	tagAddDictionaries = 23 // dictionaries
	tagSetDropEpoch    = 24
	tagSetDropped      = 25 // as tagDropped
)

// Values of tagBackup.
const (
	isBackup  = 1
	notBackup = 2 // written only if the version without the tag would be read as a backup
)

// Flags of a table. All except the first announce a field; the fields follow in this order.
const (
	flagCompressed   = 1
	flagStale        = 2  // the time at which it will be stale
	flagValues       = 4  // a count, and file, count and bytes for each value file it points into
	flagBuckets      = 8  // a count, and the six numbers of a share for each bucket in it
	flagDictionaries = 16 // a count, and the number of each
	knownFlags       = flagCompressed | flagStale | flagValues | flagBuckets | flagDictionaries
)

func appendVersion(dst []byte, v *Version) []byte {
	dst = appendNumber(dst, tagLogNumber, v.LogNumber)
	dst = appendNumber(dst, tagLastCommit, v.LastCommit)
	dst = appendNumber(dst, tagNextNumber, v.NextNumber)
	dst = appendNumber(dst, tagDropEpoch, v.DropEpoch)
	dst = appendCount(dst, tagYoung, len(v.Young))
	dst = appendRuns(dst, v.Young)
	dst = appendCount(dst, tagBottom, len(v.Bottom.Tables))
	dst = appendTables(dst, v.Bottom.Tables)
	dst = appendDrops(dst, tagDropped, v.Dropped)
	dst = appendValueFiles(dst, tagValues, v.ValueFiles)
	dst = appendDictionaries(dst, tagDictionaries, v.Dictionaries)
	dst = appendNumber(dst, tagBranch, v.Branch)
	switch {
	case v.Backup:
		dst = appendNumber(dst, tagBackup, isBackup)
	case v.untaggedBackup():
		dst = appendNumber(dst, tagBackup, notBackup)
	}
	return dst
}

func appendEdit(dst []byte, e *Edit) []byte {
	dst = appendNumber(dst, tagLogNumber, e.LogNumber)
	dst = appendNumber(dst, tagLastCommit, e.LastCommit)
	dst = appendNumber(dst, tagNextNumber, e.NextNumber)
	dst = appendCount(dst, tagAddYoung, len(e.AddYoung))
	dst = appendRuns(dst, e.AddYoung)
	dst = appendCount(dst, tagAddBottom, len(e.AddBottom))
	dst = appendTables(dst, e.AddBottom)
	dst = appendNumbers(dst, tagRemove, e.Remove)
	dst = appendNumbers(dst, tagDrop, e.Drop)
	dst = appendValueFiles(dst, tagAddValues, e.AddValues)
	dst = appendNumber(dst, tagYoungOlder, uint64(e.RemoveYoung.Older))
	dst = appendNumber(dst, tagRemoveYoung, uint64(e.RemoveYoung.Count))
	dst = appendDictionaries(dst, tagAddDictionaries, e.AddDictionaries)
	dst = appendNumber(dst, tagSetDropEpoch, e.DropEpoch)
	return appendDrops(dst, tagSetDropped, e.Dropped)
}

func appendDrops(dst []byte, tag uint64, drops []Drop) []byte {
	dst = appendCount(dst, tag, len(drops))
	for _, d := range drops {
		dst = appendUvarints(dst, d.First, d.Last, d.Epoch)
	}
	return dst
}

// appendNumber appends a field, unless n is zero.
func appendNumber(dst []byte, tag, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, tag), n)
}

// appendCount appends the start of a list, unless the list is empty.
func appendCount(dst []byte, tag uint64, n int) []byte { return appendNumber(dst, tag, uint64(n)) }

func appendNumbers(dst []byte, tag uint64, numbers []uint64) []byte {
	return appendUvarints(appendCount(dst, tag, len(numbers)), numbers...)
}

func appendUvarints(dst []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

func appendBytes(dst, p []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(p))), p...)
}

func appendValueFiles(dst []byte, tag uint64, files []ValueFile) []byte {
	dst = appendCount(dst, tag, len(files))
	for _, f := range files {
		log := uint64(0)
		if f.Log {
			log = 1
		}
		dst = appendUvarints(dst, f.Number, f.Size, log)
	}
	return dst
}

func appendRuns(dst []byte, runs []Run) []byte {
	for _, r := range runs {
		dst = binary.AppendUvarint(dst, uint64(len(r.Tables)))
		dst = appendTables(dst, r.Tables)
		dst = binary.AppendUvarint(dst, uint64(len(r.Deleted)))
		for _, d := range r.Deleted {
			dst = appendBytes(appendBytes(dst, d.Start), d.End)
		}
	}
	return dst
}

func appendTables(dst []byte, tables []*Table) []byte {
	for _, t := range tables {
		dst = appendUvarints(dst, t.Number, t.Size, t.Entries, t.Tombstones, t.RawBytes, t.DropEpoch,
			tableFlags(t))
		dst = appendBytes(appendBytes(dst, t.Smallest), t.Largest)
		if t.StaleAt != 0 {
			dst = appendUvarints(dst, t.StaleAt)
		}
		if len(t.Values) > 0 {
			dst = appendUvarints(dst, uint64(len(t.Values)))
			for _, s := range t.Values {
				dst = appendUvarints(dst, s.File, s.Count, s.Bytes)
			}
		}
		if len(t.Buckets) > 0 {
			dst = appendUvarints(dst, uint64(len(t.Buckets)))
			for _, s := range t.Buckets {
				dst = appendUvarints(dst, s.Bucket, s.Entries, s.Bytes, s.Stored, s.Zstd, s.Pattern)
			}
		}
		if len(t.Dictionaries) > 0 {
			dst = appendUvarints(dst, uint64(len(t.Dictionaries)))
			dst = appendUvarints(dst, t.Dictionaries...)
		}
	}
	return dst
}

func tableFlags(t *Table) (flags uint64) {
	if t.Compressed {
		flags |= flagCompressed
	}
	if t.StaleAt != 0 {
		flags |= flagStale
	}
	if len(t.Values) > 0 {
		flags |= flagValues
	}
	if len(t.Buckets) > 0 {
		flags |= flagBuckets
	}
	if len(t.Dictionaries) > 0 {
		flags |= flagDictionaries
	}
	return flags
}
