package main

import (
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// loadReport is how the files got into the database.
type loadReport struct {
	Files          int     `json:"files"`
	Bytes          int64   `json:"bytes"`
	Commits        int     `json:"commits"` // each of them synced
	Seconds        float64 `json:"seconds"` // including reading the files
	ReadSeconds    float64 `json:"readSeconds"`
	BytesPerSecond float64 `json:"bytesPerSecond"`
}

// sizeReport is how large the database is: closed right after the load, and compacted.
type sizeReport struct {
	CloseSeconds   float64 `json:"closeSeconds"`
	OpenSeconds    float64 `json:"openSeconds"`
	CompactSeconds float64 `json:"compactSeconds"`
	ClosedBytes    int64   `json:"closedBytes"`
	DatabaseBytes  int64   `json:"databaseBytes"` // compacted
	DatabaseFiles  int     `json:"databaseFiles"`
	FolderBytes    int64   `json:"folderBytes"` // the sum of the lengths of the files
}

// load stores all files in synced transactions.
func (t *tour) load() error {
	if err := t.open(nil); err != nil {
		return err
	}
	b := batch{db: t.db}
	bar := newProgress(t.s, "load", t.tree.bytes)
	started := time.Now()
	reading, err := t.store(&b, bar)
	if err == nil {
		err = b.commit()
	}
	took := time.Since(started)
	b.rollback()
	bar.Finish()
	if err != nil {
		return err
	}
	t.report.Skipped = t.tree.skipped
	t.report.Load = loadReport{
		Files:          len(t.tree.files),
		Bytes:          t.tree.bytes,
		Commits:        b.commits,
		Seconds:        took.Seconds(),
		ReadSeconds:    reading.Seconds(),
		BytesPerSecond: progress.Per(t.tree.bytes, took),
	}
	what := fmt.Sprintf("%s, %s", progress.Counted(int64(len(t.tree.files)), "file"),
		progress.Bytes(float64(t.tree.bytes)))
	rate := progress.Bytes(progress.Per(t.tree.bytes, took)) + "/s"
	if err := t.row("1", "load", what, progress.Duration(took), rate); err != nil {
		return err
	}
	err = t.row("", "", "of that, reading the files", progress.Duration(reading), "")
	if err != nil {
		return err
	}
	return t.row("", "", progress.Counted(int64(b.commits), "commit")+", each synced", "", "")
}

// store writes all files into the batch, and returns the time that reading them took. Files that
// cannot be read are removed from the list.
func (t *tour) store(b *batch, bar *progress.Line) (reading time.Duration, err error) {
	var stored []sourceFile
	var bytes int64
	for _, f := range t.tree.files {
		if err := interrupted(t.ctx); err != nil {
			return reading, err
		}
		started := time.Now()
		data, err := t.tree.read(f)
		reading += time.Since(started)
		if err != nil {
			t.tree.skipped.Unreadable++
			continue
		}
		tx, err := b.begin()
		if err != nil {
			return reading, err
		}
		if err := tx.Put([]byte(f.name), data); err != nil {
			return reading, fmt.Errorf("store %s: %w", f.name, err)
		}
		if _, err := b.wrote(len(f.name) + len(data)); err != nil {
			return reading, err
		}
		f.size = int64(len(data))
		stored = append(stored, f)
		bytes += f.size
		bar.Add(f.size)
	}
	if len(stored) == 0 {
		return reading, fmt.Errorf("%s has no files that can be read", t.tree.base)
	}
	t.tree.files, t.tree.bytes = stored, bytes
	return reading, nil
}

// size closes the database, opens it again, and compacts what Close has left.
func (t *tour) size() error {
	started := time.Now()
	if err := t.close(); err != nil {
		return err
	}
	closing := time.Since(started)
	_, closed, err := diskUsage(t.dir)
	if err != nil {
		return err
	}
	started = time.Now()
	if err := t.open(nil); err != nil {
		return err
	}
	opening := time.Since(started)
	started = time.Now()
	if err := t.db.Compact(t.ctx); err != nil {
		return err
	}
	compacting := time.Since(started)
	files, size, err := diskUsage(t.dir)
	if err != nil {
		return err
	}
	t.report.Size = sizeReport{
		CloseSeconds:   closing.Seconds(),
		OpenSeconds:    opening.Seconds(),
		CompactSeconds: compacting.Seconds(),
		ClosedBytes:    closed,
		DatabaseBytes:  size,
		DatabaseFiles:  files,
		FolderBytes:    t.tree.bytes,
	}
	return t.sizeRows(files, closing, opening, compacting)
}

// sizeRows prints the report of the sizes.
func (t *tour) sizeRows(files int, closing, opening, compacting time.Duration) error {
	share := func(size int64) string {
		return fmt.Sprintf("%.0f %% of files", 100*float64(size)/float64(max(1, t.tree.bytes)))
	}
	closed, size := t.report.Size.ClosedBytes, t.report.Size.DatabaseBytes
	what := progress.Bytes(float64(closed)) + " on disk"
	if err := t.row("2", "close", what, progress.Duration(closing), share(closed)); err != nil {
		return err
	}
	if err := t.row("", "open", "", progress.Duration(opening), ""); err != nil {
		return err
	}
	what = progress.Bytes(float64(size)) + " in " + progress.Counted(int64(files), "file")
	return t.row("", "compact", what, progress.Duration(compacting), share(size))
}
