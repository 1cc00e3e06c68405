package flush

import (
	"bytes"
	"errors"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// A quick job writes one young run that is not compressed, several tables of it at the same time.
// Values that are much longer than a pointer stay in the log segment. So it reads each value once,
// for the checksum in the pointer, and copies little but keys. A compaction finds what there is to
// do as after any flush: the tables are young and not compressed, and may point into the log.

// quickValue is the length from which a quick job leaves values in the log.
const quickValue = 64

// writeQuickly writes the parts of the memtable and adds them to edit as one young run.
func (j Job) writeQuickly(edit *manifest.Edit, parts []part) error {
	config := j.Config(j.isApart(parts[1]), edit.Drop)
	config.Compress, config.Reach, config.Values = false, j.Reach, run.Values{}
	pieces, least := j.pieces(parts), j.quickLeast()
	outputs, errs := make([]run.Output, len(pieces)), make([]error, len(pieces))
	j.Together(len(pieces), func(i int) {
		outputs[i], errs[i] = j.writePiece(config, pieces[i], least)
	})
	young, points := manifest.Run{}, false
	for _, o := range outputs {
		young.Tables = append(young.Tables, o.Tables...)
		for _, t := range o.Tables {
			points = points || len(t.Values) > 0
		}
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, j.discard(edit, young))
	}
	if points {
		edit.AddValues = append(edit.AddValues, j.Log)
	}
	for _, p := range parts {
		young.Deleted = append(young.Deleted, p.deleted...)
	}
	if len(young.Tables)+len(young.Deleted) > 0 {
		edit.AddYoung = []manifest.Run{young}
	}
	return nil
}

// isApart reports whether no table has keys between those of the part, so that a filter would be of
// no use.
func (j Job) isApart(p part) bool {
	first, last := j.extent(p)
	return first == nil || j.destination(first, last).stays()
}

// quickLeast returns the length from which values stay in the log, or 0 if none do. Where nothing
// is compressed, no compaction would take small values out of the log again.
func (j Job) quickLeast() int {
	least := quickValue
	if !j.CompressBottom {
		least = j.Output.Values.Separate
	}
	if least <= 0 {
		return 0
	}
	inLog := uint64(0)
	for _, value := range j.puts(nil) {
		if len(value) >= least {
			inLog += uint64(len(value))
		}
	}
	if !j.worthKeepingLog(inLog) {
		return 0
	}
	return least
}

// pieces cuts the parts so that each piece has about as many entries as the others.
func (j Job) pieces(parts []part) (pieces []part) {
	entries := j.Root.Len()
	n := min(j.Pieces, entries)
	for _, p := range parts {
		for i := 1; i < n; i++ {
			key := j.Root.Key(entries * i / n)
			if bytes.Compare(key, p.first) > 0 && (p.end == nil || bytes.Compare(key, p.end) < 0) {
				pieces = append(pieces, part{p.first, key, p.deleted})
				p.first = key
			}
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// writePiece writes a piece of the memtable, and leaves values of the given length or more in the
// log; 0 leaves none.
func (j Job) writePiece(config run.Config, p part, least int) (run.Output, error) {
	w := run.NewWriter(config)
	config.Values.Separate = least // not for the writer, which is to leave values where they are
	values := largeValues{
		valuePlan: valuePlan{inLog: least > 0, deferring: true}, job: j, config: &config,
	}
	output, err := j.writeEntries(w, p, amongOthers, &values)
	if err != nil {
		return run.Output{}, errors.Join(err, w.Abort())
	}
	return output, nil
}
