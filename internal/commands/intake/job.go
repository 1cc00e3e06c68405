package intake

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// A transaction is committed when it has one of these.
const (
	recordsMax = 10_000
	bytesMax   = 8 << 20
)

// Source is what an import reads.
type Source struct {
	Kind     string // the name of the format
	Path     string // where it is, the same in every working folder
	Identity string // text that changes when the contents do
}

// Options says what a Job does. The zero value is the default.
type Options struct {
	Bucket   []string // the path of the bucket to import into; none for the root bucket
	Feed     string   // the feed that numbered entries are appended to; none: to the bucket
	Settings string   // what else must be the same in all runs of an import, for messages too
	// Restart imports from the start although an earlier run has not finished. The numbered entries
	// of that run are removed; entries with keys stay, unless the source has the same key.
	Restart bool
	// Once means that the source cannot be read again: everything is one transaction.
	Once bool
	// RecordsMax is the number of records in a transaction; 0: the default, 10,000.
	RecordsMax int
}

// Space is a bucket, or the root bucket, as an import uses it.
type Space interface {
	Put(key, value []byte) error                                // as [stoat.Bucket.Put]
	PutUntil(key, value []byte, at time.Time) error             // as [stoat.Bucket.PutUntil]
	DeleteRange(r stoat.Range) error                            // as [stoat.Bucket.DeleteRange]
	NextSequence() (uint64, error)                              // as [stoat.Bucket.NextSequence]
	Sequence() (uint64, error)                                  // as [stoat.Bucket.Sequence]
	SetSequence(n uint64) error                                 // as [stoat.Bucket.SetSequence]
	CreateBucketIfNotExists(name []byte) (*stoat.Bucket, error) // likewise
}

// Job is one run of an import. It must be ended by Finish, Pause or Rollback. After a transaction
// fails to begin or commit, all methods that write return that error; another Job resumes from what
// is stored.
type Job struct {
	db      *stoat.DB
	source  Source
	options Options
	key     []byte // of the bookmark

	feed    *feed.Feed[[]byte] // nil for a bucket, or if it is not open yet
	ours    bool               // this job created the feed and has not committed to it yet
	mark    bookmark           // as the next commit stores it
	undo    []numbers          // removed by the first commit of a restart
	resumed bool
	stored  Counts // as the last commit has stored them
	before  Counts // as an earlier run has stored them
	commits int
	err     error // why the job cannot continue: its state differs from what is stored

	tx      *stoat.Tx // nil if none is open
	target  Space     // in tx
	within  Space     // in tx, at path from target; nil if none is known
	path    [][]byte
	records int // since the last commit
	bytes   int // since the last commit
}

// Start begins an import into db, or resumes an earlier one. The error says what to do if the
// source has changed since.
func Start(db *stoat.DB, source Source, options Options) (*Job, error) {
	j := &Job{db: db, source: source, options: options}
	if j.options.RecordsMax == 0 {
		j.options.RecordsMax = recordsMax
	}
	j.key = bookmarkKey(source, options.Bucket)
	var earlier *bookmark
	err := db.View(func(tx *stoat.Tx) (err error) {
		earlier, err = readBookmark(tx, j.key)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case earlier == nil:
	case options.Restart && options.Feed != "" && len(earlier.Numbers) > 0:
		return nil, fmt.Errorf("a part of %s is in the feed %q, which takes nothing back: go on without "+
			"-restart, or import into another feed", source.Path, options.Feed)
	case options.Restart:
		j.undo = earlier.Numbers
	case earlier.Identity != source.Identity:
		return nil, fmt.Errorf("%s has changed since a part of it was imported: it is %s and was "+
			"%s; import it from the start with -restart", source.Path, source.Identity,
			earlier.Identity)
	case earlier.Settings != options.Settings:
		return nil, fmt.Errorf("a part of %s was imported %s and not %s: repeat that to go on, or "+
			"import it from the start with -restart", source.Path, earlier.Settings,
			options.Settings)
	default:
		j.mark, j.stored, j.before, j.resumed = *earlier, earlier.Counts, earlier.Counts, true
	}
	j.mark.Identity, j.mark.Settings = source.Identity, options.Settings
	if err := j.openFeed(false); err != nil {
		return nil, err
	}
	return j, nil
}

// openFeed opens the target feed, if the target is one. It creates a missing feed only if asked to,
// because an import that is refused must not leave one behind.
func (j *Job) openFeed(create bool) error {
	if j.options.Feed == "" || j.feed != nil {
		return nil
	}
	err := j.db.View(func(tx *stoat.Tx) error {
		_, err := tx.Bucket([]byte(j.options.Feed))
		return err
	})
	missing := errors.Is(err, stoat.ErrBucketNotFound)
	switch {
	case missing && !create:
		return nil
	case err != nil && !missing:
		return err
	}
	j.ours = missing
	j.feed, err = feed.Open[[]byte](j.db, j.options.Feed, nil)
	return err
}

// dropFeed removes the feed that was created for entries that are not stored after all. After an
// error, an empty feed may remain.
func (j *Job) dropFeed() error {
	if !j.ours {
		return nil
	}
	j.ours, j.feed = false, nil
	return j.db.Update(func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte(j.options.Feed)) })
}

// Position returns where to continue reading the source: after the last record passed to Advance.
// The caller owns its slices.
func (j *Job) Position() Position {
	var p Position
	p.set(j.mark.Position)
	return p
}

// Resumed reports whether the job resumes an earlier one.
func (j *Job) Resumed() bool { return j.resumed }

// Counts returns what is stored or skipped, including earlier runs.
func (j *Job) Counts() Counts { return j.stored }

// Within returns the bucket that the names lead to from the target, and creates it if necessary;
// without names it returns the target. It is valid until the next call of Advance.
func (j *Job) Within(path [][]byte) (Space, error) {
	if err := j.begin(); err != nil {
		return nil, err
	}
	if len(path) == 0 {
		return j.target, nil
	}
	if j.within != nil && slices.EqualFunc(path, j.path, bytes.Equal) {
		return j.within, nil
	}
	in := j.target
	for _, name := range path {
		next, err := in.CreateBucketIfNotExists(name)
		if err != nil {
			return nil, err
		}
		in = next
	}
	j.within, j.path = in, j.path[:0]
	for _, name := range path {
		j.path = append(j.path, bytes.Clone(name))
	}
	return in, nil
}

// begin opens a transaction if there is none.
func (j *Job) begin() error {
	if j.err == nil && j.tx == nil {
		j.err = j.open()
	}
	return j.err
}

// open opens a transaction, and in a restart removes the entries of the earlier run.
func (j *Job) open() error {
	if err := j.openFeed(true); err != nil { // in transactions of its own
		return err
	}
	tx, err := j.db.Begin(true)
	if err != nil {
		return err
	}
	j.tx, j.target = tx, tx
	for _, name := range j.options.Bucket {
		if j.target, err = j.target.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	return removeEntries(j.target, j.undo)
}

// Wrote counts an entry that the caller has written to the target or a bucket within it.
func (j *Job) Wrote(bytes int) {
	j.mark.Counts.Entries++
	j.mark.Counts.Bytes += int64(bytes)
	j.bytes += bytes
}

// Put stores an entry in the target.
func (j *Job) Put(key, value []byte) error {
	if err := j.begin(); err != nil {
		return err
	}
	j.Wrote(len(key) + len(value))
	return j.target.Put(key, value)
}

// PutUntil stores an entry that expires at a given time. If the caller says that it has expired,
// the key is deleted instead.
func (j *Job) PutUntil(key, value []byte, at time.Time, over bool) error {
	if err := j.begin(); err != nil {
		return err
	}
	if over {
		j.mark.Counts.Expired++
	} else {
		j.Wrote(len(key) + len(value))
	}
	return j.target.PutUntil(key, value, at)
}

// Append stores a numbered entry in the target.
func (j *Job) Append(value []byte) error {
	j.Wrote(len(value))
	return j.number(value, false)
}

// Redacted skips a number, for an entry that the source has erased.
func (j *Job) Redacted() error {
	j.mark.Counts.Redacted++
	return j.number(nil, true)
}

func (j *Job) number(value []byte, redacted bool) error {
	if err := j.begin(); err != nil {
		return err
	}
	n, err := j.append(value, redacted)
	if err == nil {
		j.mark.took(n)
	}
	return err
}

// append stores a numbered entry, or takes a number for one that is erased.
func (j *Job) append(value []byte, redacted bool) (uint64, error) {
	if j.feed == nil {
		return appendEntry(j.target, value, redacted)
	}
	n, err := j.feed.Append(j.tx, &value)
	if err == nil && redacted {
		err = j.feed.Redact(j.tx, n)
	}
	return n, err
}

// Skipped counts an invalid record that was left out.
func (j *Job) Skipped() { j.mark.Counts.Skipped++ }

// Advance notes that the source is done up to the position, and commits if enough was written. The
// position's slices may be reused afterwards.
func (j *Job) Advance(to Position) error {
	if j.err != nil {
		return j.err
	}
	j.records++
	full := j.records >= j.options.RecordsMax || j.bytes >= bytesMax
	j.mark.Position.set(to)
	if !full || j.options.Once {
		return nil
	}
	return j.Pause()
}

// Pause makes durable what is done. This job or another run may continue afterwards. If the source
// cannot be read again, Pause rolls everything back instead.
func (j *Job) Pause() error {
	if j.records == 0 || j.options.Once {
		j.Rollback()
		return j.err
	}
	if err := j.begin(); err != nil {
		return err
	}
	if j.err = j.mark.write(j.tx, j.key); j.err != nil {
		return j.err
	}
	return j.commit()
}

// Finish makes durable what is done, and that the import is complete.
func (j *Job) Finish() error {
	if err := j.begin(); err != nil {
		return err
	}
	if j.err = removeBookmark(j.tx, j.key); j.err != nil {
		return j.err
	}
	return j.commit()
}

func (j *Job) commit() error {
	j.err = j.tx.Commit()
	j.tx, j.target, j.within = nil, nil, nil
	if j.err == nil {
		j.ours, j.undo, j.records, j.bytes = false, nil, 0, 0
		j.stored = j.mark.Counts
		j.commits++
	}
	return j.err
}

// Rollback discards what was written since the last commit. It does nothing after Finish.
func (j *Job) Rollback() {
	if j.tx != nil {
		_ = j.tx.Rollback() // it always returns nil
		j.tx, j.target, j.within = nil, nil, nil
	}
	if err := j.dropFeed(); err != nil && j.err == nil {
		j.err = err
	}
}

// Stopped adds to the error that ends a run how much is in the database.
func (j *Job) Stopped(err error) error {
	if !j.resumed && j.commits == 0 {
		return fmt.Errorf("%w; this run has imported nothing", err)
	}
	return fmt.Errorf("%w; %s imported so far, and the same command goes on from there", err,
		entriesText(j.stored.Entries))
}
