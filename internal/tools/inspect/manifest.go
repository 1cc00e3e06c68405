package inspect

import (
	"strconv"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/manifest"
)

// maxManifestBytes is the largest manifest that is read: no larger one is written.
const maxManifestBytes = 1 << 30

func (f *source) printManifest(p *printer) error {
	if f.size > maxManifestBytes {
		p.damaged(0, "a manifest has %d bytes at most", maxManifestBytes)
		return nil
	}
	data, err := f.read(0, f.size)
	if err != nil {
		return err
	}
	if f.size == fileheader.Size {
		p.damaged(fileheader.Size, "there is no version behind the header")
	}
	var after *manifest.Version
	err = manifest.Walk(data, func(frame manifest.Frame) error {
		printManifestFrame(p, frame)
		after = frame.After
		return p.err
	})
	if after != nil {
		p.put(inner(0).called("in all").with(versionSum(after)...))
	}
	return err
}

func printManifestFrame(p *printer, f manifest.Frame) {
	size := count(uint64(f.End-f.At), "byte")
	switch {
	case f.Version != nil:
		p.put(at(f.At).called("version").with(size))
		printVersion(p, f.Version)
	case f.Edit != nil:
		p.put(at(f.At).called("edit").with(size))
		printEdit(p, f.Edit)
	case f.Torn:
		p.put(at(f.At).called("torn").with(size, prose("meaning",
			"an edit that a crash cut off; what is before it counts")))
		return
	default:
		p.damaged(f.At, "%d bytes: %v", f.End-f.At, f.Err)
		return
	}
	if f.Err != nil {
		p.damaged(f.At, "%v", f.Err)
	} else if f.After == nil {
		p.put(note("what it changes is not known, for want of a frame before it"))
	}
}

// versionSum returns how much a version has.
func versionSum(v *manifest.Version) []field {
	var tables, bytes, entries uint64
	for t := range v.Tables() {
		tables++
		bytes += t.Size
		entries += t.Entries
	}
	return []field{
		count(uint64(len(v.Young)), "young run"), count(tables, "table"), count(bytes, "byte"),
		count(entries, "entry"), some(uint64(len(v.ValueFiles)), "value file"),
		some(uint64(len(v.Dictionaries)), "dictionary"), number("log number", v.LogNumber),
		number("last commit", v.LastCommit), number("next number", v.NextNumber),
	}
}

func printVersion(p *printer, v *manifest.Version) {
	branch := field{}
	if v.Branch != 0 {
		branch = word("branch", strconv.FormatUint(v.Branch, 16))
	}
	p.put(inner(1).called("numbers").with(
		number("log number", v.LogNumber), number("last commit", v.LastCommit),
		number("next number", v.NextNumber), nonzero("drop epoch", v.DropEpoch),
		branch, mark("backup", v.Backup)))
	printRuns(p, "young run", v.Young)
	if len(v.Bottom.Tables) > 0 {
		printRuns(p, "bottom run", []manifest.Run{v.Bottom})
	}
	for _, d := range v.Dropped {
		p.put(inner(1).called("dropped").with(
			number("first", d.First), number("last", d.Last), number("epoch", d.Epoch)))
	}
	printFiles(p, v.ValueFiles, v.Dictionaries)
}

func printEdit(p *printer, e *manifest.Edit) {
	i := inner(1).called("numbers").with(nonzero("log number", e.LogNumber),
		nonzero("last commit", e.LastCommit), nonzero("next number", e.NextNumber))
	if len(i.fields) > 0 {
		p.put(i)
	}
	if r := e.RemoveYoung; r.Count > 0 {
		p.put(inner(1).called("removes").with(
			count(uint64(r.Count), "young run"), number("older than them", uint64(r.Older))))
	}
	printRuns(p, "adds young run", e.AddYoung)
	if len(e.AddBottom) > 0 {
		printRuns(p, "adds to the bottom run", []manifest.Run{{Tables: e.AddBottom}})
	}
	for _, n := range e.Remove {
		p.put(inner(1).called("removes from the bottom run").with(number("table", n)))
	}
	for _, id := range e.Drop {
		p.put(inner(1).called("drops").with(number("bucket", id)))
	}
	printFiles(p, e.AddValues, e.AddDictionaries)
}

func printRuns(p *printer, what string, runs []manifest.Run) {
	for n, r := range runs {
		i := inner(1).called(what)
		if len(runs) > 1 {
			i = i.with(number("age", uint64(n)))
		}
		p.put(i.with(count(uint64(len(r.Tables)), "table"), count(r.Bytes(), "byte"),
			some(uint64(len(r.Deleted)), "range deletion")))
		for _, t := range r.Tables {
			printTableMeta(p, t)
		}
		for _, d := range r.Deleted {
			to := word("to", "the end")
			if d.End != nil {
				to = key("to", d.End)
			}
			p.put(inner(2).called("range deletion").with(key("from", d.Start), to))
		}
	}
}

// printTableMeta prints what a manifest says about a table.
func printTableMeta(p *printer, t *manifest.Table) {
	p.put(inner(2).called("table").with(ordinal("%06d", t.Number),
		count(t.Size, "byte"), count(t.Entries, "entry"), some(t.Tombstones, "tombstone"),
		number("raw bytes", t.RawBytes), nonzero("drop epoch", t.DropEpoch),
		mark("compressed", t.Compressed), moment("stale at", t.StaleAt),
		key("first", t.Smallest), key("last", t.Largest)))
	for _, s := range t.Values {
		p.put(inner(3).called("points into").with(number("file", s.File), count(s.Count, "value"),
			count(s.Bytes, "byte")))
	}
	for _, s := range t.Buckets {
		p.put(inner(3).called("holds").with(number("bucket", s.Bucket), count(s.Entries, "entry"),
			count(s.Bytes, "byte"), nonzero("stored", s.Stored), nonzero("zstd", s.Zstd),
			nonzero("pattern", s.Pattern)))
	}
	for _, n := range t.Dictionaries {
		p.put(inner(3).called("needs").with(number("dictionary", n)))
	}
}

func printFiles(p *printer, files []manifest.ValueFile, dictionaries []manifest.Dictionary) {
	for _, f := range files {
		p.put(inner(1).called("value file").with(ordinal("%06d", f.Number), count(f.Size, "byte"),
			mark("log segment", f.Log), nonzero("live", f.Live), some(f.Count, "value")))
	}
	for _, d := range dictionaries {
		p.put(inner(1).called("dictionary").with(ordinal("%06d", d.Number),
			number("bucket", d.Bucket), count(uint64(len(d.Data)), "byte"), number("fit", d.Fit)))
	}
}
