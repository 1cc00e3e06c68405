package feed

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

// Errors from operations on a feed.
var (
	// ErrRedacted reports an entry whose value [Feed.Redact] removed.
	ErrRedacted = errors.New("entry is redacted")
	// ErrExpired reports an entry that retention removed. It also matches [stoat.ErrNotFound].
	ErrExpired = fmt.Errorf("entry is expired: %w", stoat.ErrNotFound)
	// ErrInconsistent reports that a salvage lost part of a feed, so its entries and sublogs
	// disagree: see [Reindex].
	ErrInconsistent = errors.New("a salvage lost part of it")
	// ErrOutdated reports a [Feed] that does not match what is stored: the feed has been deleted
	// and recreated with other fields or another encoding, the feed is from another database, or
	// more entries are missing from a sublog than an Append adds. The fields of values stored with
	// [EncodingJSON] are not checked.
	ErrOutdated = errors.New("the feed has changed since it was opened: reopen it")
)

// ConsumeError reports the entry at which a consumer stopped.
type ConsumeError struct {
	Consumer string
	Seq      uint64 // the entry that was not handled
	Err      error
}

// Error returns the consumer, the entry and the reason as text.
func (e *ConsumeError) Error() string {
	return fmt.Sprintf("consumer %q at entry %d: %v", e.Consumer, e.Seq, e.Err)
}

// Unwrap returns the reason.
func (e *ConsumeError) Unwrap() error { return e.Err }

// damaged returns an error that matches stoat.ErrCorrupt.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", stoat.ErrCorrupt, fmt.Sprintf(format, args...))
}
