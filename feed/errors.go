package feed

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
)

var (
	// ErrRedacted reports an entry whose value was removed by [Feed.Redact].
	ErrRedacted = errors.New("entry is redacted")
	// ErrExpired reports an entry that retention has removed. It is a [stoat.ErrNotFound] as well.
	ErrExpired = fmt.Errorf("entry is expired: %w", stoat.ErrNotFound)
	// ErrInconsistent reports that a salvage has lost something of a feed, so that entries and
	// sublogs do not agree: see [Reindex].
	ErrInconsistent = errors.New("a salvage has lost something of it")
	// ErrOutdated reports a [Feed] that does not fit what is stored: the feed was deleted and created
	// anew since, or is that of another database, and stores structs of other fields or another
	// encoding; or more entries lack a sublog than an Append adds. What [EncodingJSON] stores has
	// no fields that are known.
	ErrOutdated = errors.New("the feed has changed since it was opened: open it anew")
)

// ConsumeError reports the entry at which a consumer has stopped.
type ConsumeError struct {
	Consumer string
	Seq      uint64 // of the entry, which was not handled
	Err      error
}

// Error returns the consumer, the entry and the reason.
func (e *ConsumeError) Error() string {
	return fmt.Sprintf("consumer %q at entry %d: %v", e.Consumer, e.Seq, e.Err)
}

// Unwrap returns the reason.
func (e *ConsumeError) Unwrap() error { return e.Err }

// damaged returns an error that says that what is stored cannot be.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", stoat.ErrCorrupt, fmt.Sprintf(format, args...))
}
