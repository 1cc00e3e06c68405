package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Info describes the database in a store.
type Info struct {
	Database [16]byte // its identity
	Writers  []Writer // the newest one first; at most 5

	// Newest is the newest commit in the store, and Oldest the oldest one from which on all are kept.
	// If nothing was deleted yet, that is 0, or what a clone began with.
	Newest, Oldest Moment
	Pins           []PinInfo
	Origin         *OriginInfo // of a clone that needs its parent; else nil

	// What is stored, by the kinds of objects. Values are files with large values, and Other is what
	// is no part of the database.
	Log, States, Tables, Values, Pinned, Other Usage
	// Past is the part of this that restoring the newest commit does not need. Most of it is kept for
	// the retention or for pins, and the rest are files that are about to be named, or deleted.
	Past Usage
}

// Moment is a commit, and when the store was as it is after it, by the clock of a writer.
type Moment struct {
	Commit uint64
	Time   time.Time
}

// Writer is a process that has opened a database for writing.
type Writer struct {
	Epoch uint64
	Name  string // for people; may be empty
	Since time.Time
}

// Usage is what objects take in a store.
type Usage struct {
	Objects int
	Bytes   int64
}

// Inspect describes the database in a store, without a change, and without its writer. It lists all
// objects, and reads the newest part of the log. If there is no database, the error is [ErrNone].
func Inspect(ctx context.Context, store objstore.Store) (*Info, error) {
	a, err := archive.New(store)
	if err != nil {
		return nil, err
	}
	c, err := a.Inspect(ctx)
	if err != nil {
		return nil, fmt.Errorf("inspect a database in object storage: %w", err)
	}
	info := &Info{
		Database: c.End.Database,
		Newest:   Moment{c.End.Commit, clock(c.End.Time)},
		Oldest:   Moment{c.First.Commit, clock(c.First.Time)},
		Log:      Usage(c.Log), States: Usage(c.States), Tables: Usage(c.Tables),
		Values: Usage(c.Values), Pinned: Usage(c.Pinned), Other: Usage(c.Other), Past: Usage(c.Past),
	}
	for _, claim := range c.Claims {
		info.Writers = append(info.Writers, Writer{claim.Epoch, claim.Claim.Writer, clock(claim.Time)})
	}
	for _, pin := range c.Pins {
		info.Pins = append(info.Pins, pinInfo(pin))
	}
	if c.End.Origin != nil {
		info.Origin = originInfo(c)
	}
	return info, nil
}

// clock returns a time in milliseconds since 1970; 0 is none.
func clock(milliseconds uint64) time.Time {
	if milliseconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(milliseconds))
}

// Verified is what [Verify] has found to be whole.
type Verified struct {
	Oldest, Newest uint64 // the commits that can be restored, with all between them
	LogObjects     uint64 // that say what happened from the oldest commit on
	States         int
	Files          int
	Bytes          int64 // of the files
}

// Verify checks the database in a store: it reads the log and the states that it takes to restore
// the commits which are kept, and looks for the files that they name, but does not read these;
// [Restore] reads those of one commit. The error matches [stoat.ErrCorrupt] if something is damaged
// or missing, and names it. A writer may run meanwhile.
func Verify(ctx context.Context, store objstore.Store) (*Verified, error) {
	a, err := archive.New(store)
	if err != nil {
		return nil, err
	}
	v, err := a.Verify(ctx)
	if err != nil {
		return nil, fmt.Errorf("verify a database in object storage: %w", err)
	}
	return &Verified{
		Oldest: v.First.Commit, Newest: v.End.Commit, LogObjects: v.End.Number - v.First.Number,
		States: v.States, Files: v.Files, Bytes: v.Bytes,
	}, nil
}
