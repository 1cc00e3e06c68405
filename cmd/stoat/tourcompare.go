package main

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// compare checks that the database holds the files, byte for byte, and nothing else.
func (t *tour) compare() error {
	r := &t.report.Compare
	bar := newProgress(t.s, "compare", t.tree.bytes)
	started := time.Now()
	err := t.db.View(func(tx *stoat.Tx) error {
		if err := t.tree.matchKeys(tx, new(scanReport)); err != nil {
			return err
		}
		for _, f := range t.tree.files {
			if err := interrupted(t.ctx); err != nil {
				return err
			}
			if err := t.tree.compareFile(tx, f); err != nil {
				return err
			}
			r.Keys++
			r.Bytes += f.size
			bar.Add(f.size)
		}
		return nil
	})
	took := time.Since(started)
	bar.Finish()
	if err != nil {
		return err
	}
	r.Seconds = took.Seconds()
	return t.row("8", "compare all", fmt.Sprintf("%s, %s", progress.Counted(int64(r.Keys), "file"),
		progress.Bytes(float64(r.Bytes))), progress.Duration(took), "all identical")
}

// compareFile returns an error that names the file unless the stored value equals the file.
func (t *sourceTree) compareFile(tx *stoat.Tx, f sourceFile) error {
	stored, err := tx.Get([]byte(f.name))
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	data, err := t.read(f)
	if err != nil {
		return fmt.Errorf("compare %s: %w", f.name, err)
	}
	if bytes.Equal(stored, data) {
		return nil
	}
	return errors.New(f.name + ": the database differs from the directory; has the file changed " +
		"since the tour began?")
}
