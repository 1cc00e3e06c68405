package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// snapshotReport tells what an old snapshot and a new one showed while a writer wrote.
type snapshotReport struct {
	Scans   int     `json:"scans"` // of the old snapshot, all alike
	OldKeys int     `json:"oldKeys"`
	NewKeys int     `json:"newKeys"`
	Deleted int     `json:"deleted"`
	Added   int     `json:"added"`
	Commits int     `json:"commits"`
	Seconds float64 `json:"seconds"`
}

// What the writer does while the snapshot is read.
const (
	rewriteCommits = 100
	rewriteDeletes = 5 // in each commit, as long as there are files
	rewriteAdds    = 10
)

// snapshot takes a snapshot and reads it over and over while a writer deletes and adds keys. Then
// it puts everything back, from the snapshot.
func (t *tour) snapshot() error {
	old, err := t.db.Begin(false)
	if err != nil {
		return err
	}
	defer func() { _ = old.Rollback() }() // it always returns nil
	r := &t.report.Snapshot
	started := time.Now()
	written := make(chan error, 1)
	go func() { written <- t.rewrite() }()
	readErr, writeErr := t.watch(old, written)
	if err := errors.Join(readErr, writeErr); err != nil {
		return err
	}
	r.Seconds = time.Since(started).Seconds()
	r.Commits = rewriteCommits
	r.Deleted = min(len(t.tree.files), rewriteCommits*rewriteDeletes)
	r.Added = rewriteCommits * rewriteAdds
	if err := t.countNew(); err != nil {
		return err
	}
	if err := t.putBack(old); err != nil {
		return err
	}
	err = t.row("6", "old snapshot",
		fmt.Sprintf("%s in %s", progress.Counted(int64(r.OldKeys), "key"),
			progress.Counted(int64(r.Scans), "scan")),
		progress.Duration(seconds(r.Seconds)), "stands still")
	if err != nil {
		return err
	}
	return t.row("", "new snapshot",
		fmt.Sprintf("%s, %s", progress.Counted(int64(r.NewKeys), "key"),
			progress.Counted(int64(r.Commits), "commit")),
		"", fmt.Sprintf("+%s -%s", progress.Count(int64(r.Added)), progress.Count(int64(r.Deleted))))
}

// watch reads the old snapshot until the writer has ended and returns the errors of both.
func (t *tour) watch(old *stoat.Tx, written <-chan error) (readErr, writeErr error) {
	for ended := false; !ended; {
		select {
		case writeErr = <-written:
			ended = true // and one more read
		default:
		}
		if readErr == nil {
			var seen scanReport
			if err := t.tree.matchKeys(old, &seen); err != nil {
				readErr = fmt.Errorf("the old snapshot changed: %w", err)
			}
			t.report.Snapshot.OldKeys = seen.Keys
			t.report.Snapshot.Scans++
		}
	}
	return readErr, writeErr
}

// rewrite is the writer: it deletes the first files and adds other keys, in many transactions.
func (t *tour) rewrite() error {
	files := t.tree.files
	for i := range rewriteCommits {
		err := t.db.Update(func(tx *stoat.Tx) error {
			for j := i * rewriteDeletes; j < min(len(files), (i+1)*rewriteDeletes); j++ {
				if err := tx.Delete([]byte(files[j].name)); err != nil {
					return err
				}
			}
			for j := range rewriteAdds {
				if err := tx.Put(addedKey(i, j), []byte("new")); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addedKey returns a key that no file has: a path never has two slashes in a row.
func addedKey(commit, n int) []byte { return fmt.Appendf(nil, "new//%04d/%02d", commit, n) }

// countNew counts the keys of a new snapshot and checks the number.
func (t *tour) countNew() error {
	r := &t.report.Snapshot
	err := t.db.View(func(tx *stoat.Tx) error {
		for range tx.Keys(stoat.Range{}) {
			r.NewKeys++
		}
		return nil
	})
	if want := len(t.tree.files) - r.Deleted + r.Added; err == nil && r.NewKeys != want {
		err = fmt.Errorf("a new snapshot has %d keys of %d", r.NewKeys, want)
	}
	return err
}

// putBack restores the keys that rewrite changed.
func (t *tour) putBack(old *stoat.Tx) error {
	return t.db.Update(func(tx *stoat.Tx) error {
		for _, f := range t.tree.files[:t.report.Snapshot.Deleted] {
			value, err := old.Get([]byte(f.name))
			if err != nil {
				return fmt.Errorf("%s in the old snapshot: %w", f.name, err)
			}
			if err := tx.Put([]byte(f.name), value); err != nil {
				return err
			}
		}
		for i := range rewriteCommits {
			for j := range rewriteAdds {
				if err := tx.Delete(addedKey(i, j)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
