package remote

import "time"

// Status says how far a database is shipped, and what that took. Commits are numbered from 1 on.
type Status struct {
	Epoch   uint64        // of this writer; a later writer has a higher one
	Commit  uint64        // the newest commit of the database
	Shipped uint64        // the newest commit that the store has, with all before it
	Lag     time.Duration // for how long the oldest other commit has waited, at most; 0: there is none

	// Requests is how many were made to the store since the database was opened, or the reader that
	// became its writer, with those for files that are only there.
	Requests uint64
	Bytes    uint64 // sent to the store since then

	LocalBytes  uint64 // of tables and value files in the folder
	RemoteBytes uint64 // of those that are only in the store

	Failed error // why the last request failed, which may be tried again; nil if it did not
	// Uncollected is why the last try to delete what nobody needs failed; nil if it did not.
	Uncollected error
	// Unevicted is why the last try to keep to [Options.LocalBytes] failed; nil if it did not.
	Unevicted error
	// Unfilled is why a file was not fetched into the cache, the last one since Open, and UnfilledAt
	// when that was: for [Options.FillCache]. It may be there by now, unless it is damaged. nil if
	// there was none.
	Unfilled   error
	UnfilledAt time.Time
	Ended      error // why nothing is shipped any more, such as ErrFenced; nil while it is
}

// Status returns how far the database is shipped.
func (db *DB) Status() Status {
	s := db.shipper.Status()
	return Status{
		Epoch: s.Epoch, Commit: s.Newest, Shipped: s.Shipped, Lag: s.Lag,
		Requests: db.store.requests.Load(), Bytes: db.store.bytes.Load(),
		LocalBytes: s.Local, RemoteBytes: s.Remote,
		Failed: s.Failed, Uncollected: s.Uncollected, Unevicted: s.Unevicted,
		Unfilled: s.Unfilled, UnfilledAt: s.UnfilledAt, Ended: s.Ended,
	}
}
