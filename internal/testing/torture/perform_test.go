package torture

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// verbs are the kinds of actions.
var verbs = slices.Concat(
	[]string{
		"begin", "commit", "rollback", "hold", "release", "wait", // transactions and time
		"cursor", "first", "last", "seek", "movenext", "moveprev", "cut",
		"load", "flush", "compact", "sync", "check", "backup", "reopen",
	},
	writeVerbs, readVerbs)

var (
	writeVerbs = []string{
		"put", "expire", "delete", "deleterange", "swap", "remove", "create", "drop", "move",
		"next", "setsequence", "fill",
	}
	readVerbs = []string{"get", "has", "scan", "keys", "buckets", "sequence", "ttl"}
)

// performance is one run of a plan on a store, which must be open.
type performance struct {
	store
	clock   *model.Clock
	tx      txn // the writable transaction, if one is open
	readers [heldReaders + 1]txn
	cursors [heldCursors]heldCursor
}

// heldCursor is a cursor, if any, and the number of its reader, or 0 for the writable transaction.
type heldCursor struct {
	cursor
	reader int
}

// perform runs a plan from an empty database to a closed one, and returns the transcript: a line
// with the result of each action.
func perform(s store, clock *model.Clock, p plan) (transcript []string, err error) {
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	pl := &performance{store: s, clock: clock}
	for _, a := range p {
		if pl.tx == nil {
			if err := pl.between(); err != nil {
				return transcript, fmt.Errorf("between two actions: %w", err)
			}
		}
		transcript = append(transcript, pl.do(a))
	}
	if pl.tx != nil {
		pl.tx.end(false)
	}
	for _, r := range pl.readers {
		if r != nil {
			transcript = append(transcript, stateOf(r.dump()))
			r.end(false)
		}
	}
	return transcript, s.close()
}

// do does one action and returns its result.
func (p *performance) do(a action) string {
	switch {
	case slices.Contains(writeVerbs, a.verb):
		if a.verb == "drop" {
			p.forget(0) // a cursor in a dropped bucket is useless
		}
		return p.write(a)
	case slices.Contains(readVerbs, a.verb):
		return p.read(a, func(s space) string { return readIn(s, a) })
	}
	switch a.verb {
	case "begin", "commit", "rollback":
		return p.transaction(a)
	case "hold", "release":
		return p.reader(a)
	case "wait":
		// A cursor that has read an expiring entry may keep to that time.
		p.cursors = [heldCursors]heldCursor{}
		p.clock.Advance(time.Duration(a.n) * time.Millisecond)
		return "ok"
	case "cursor":
		return p.cursor(a)
	case "first", "last", "seek", "movenext", "moveprev":
		c := p.cursors[a.n%heldCursors]
		if c.cursor == nil {
			return "no cursor"
		}
		e, ok, err := c.move(a.verb, a.key)
		return fmt.Sprint(ok, " ", short(e.Key), " ", short(e.Value), " ", class(err))
	case "cut":
		c := p.cursors[a.n%heldCursors]
		if c.cursor == nil || c.reader != 0 {
			return "no cursor"
		}
		return class(c.delete())
	}
	return p.upkeep(a)
}

// upkeep does what cannot run beside the writable transaction.
func (p *performance) upkeep(a action) string {
	if p.tx != nil {
		return "busy"
	}
	switch a.verb {
	case "load":
		return class(p.load(numberedPairs(a)))
	case "backup":
		return stateOf(p.backup())
	case "reopen":
		return stateOf(p.reopen())
	}
	return class(p.keepUp(a.verb))
}

// numberedPairs returns the pairs that the action fills or loads.
func numberedPairs(a action) []model.Entry {
	pairs := make([]model.Entry, a.n)
	for i := range pairs {
		pairs[i].Key = fmt.Sprintf("%s%04d", a.key, i)
		pairs[i].Value = a.value.next(i).String()
	}
	if a.reverse {
		slices.Reverse(pairs)
	}
	return pairs
}

func (p *performance) transaction(a action) string {
	if (p.tx != nil) == (a.verb == "begin") {
		return "not now"
	}
	if a.verb == "begin" {
		var err error
		p.tx, err = p.begin(true)
		return class(err)
	}
	p.forget(0)
	err := p.tx.end(a.verb == "commit")
	p.tx = nil
	return class(err)
}

func (p *performance) reader(a action) string {
	number := a.reader % len(p.readers)
	at := &p.readers[number]
	if number == 0 || (*at != nil) == (a.verb == "hold") {
		return "not now"
	}
	var err error
	if a.verb == "hold" {
		*at, err = p.begin(false)
		return class(err)
	}
	p.forget(number)
	state := stateOf((*at).dump())
	err = (*at).end(false)
	*at = nil
	return state + " " + class(err)
}

// forget forgets the cursors of a reader, or of the writable transaction.
func (p *performance) forget(reader int) {
	for i := range p.cursors {
		if p.cursors[i].reader == reader {
			p.cursors[i] = heldCursor{}
		}
	}
}

func (p *performance) cursor(a action) string {
	number := a.reader % len(p.readers)
	from := p.readers[number]
	if number == 0 {
		from = p.tx
	}
	at := &p.cursors[a.n%heldCursors]
	if *at = (heldCursor{}); from == nil {
		return "no transaction"
	}
	s, err := from.space(a.in)
	if err == nil {
		*at = heldCursor{s.cursor(), number}
	}
	return class(err)
}

// read calls fn with the bucket that the action reads.
func (p *performance) read(a action, fn func(s space) string) (result string) {
	within := func(b txn) error {
		s, err := b.space(a.in)
		if err == nil {
			result = fn(s)
		}
		return err
	}
	var err error
	switch {
	case a.reader != 0 && p.readers[a.reader%len(p.readers)] == nil:
		return "no reader"
	case a.reader != 0:
		err = within(p.readers[a.reader%len(p.readers)])
	case p.tx != nil:
		err = within(p.tx)
	default:
		err = p.view(within)
	}
	return result + " " + class(err)
}

// write does a write in the open transaction or in a new one.
func (p *performance) write(a action) (result string) {
	within := func(b txn) error {
		s, err := b.space(a.in)
		switch {
		case err != nil:
		case a.verb == "move":
			err = moveBucket(b, s, a)
		default:
			result, err = writeIn(s, a)
		}
		return err
	}
	if p.tx != nil {
		return class(within(p.tx)) + " " + result
	}
	return class(p.update(within)) + " " + result
}

// moveBucket moves the bucket key to the path end.
func moveBucket(b txn, s space, a action) error {
	path, name := "", a.end
	if i := strings.LastIndexByte(a.end, '/'); i >= 0 {
		path, name = a.end[:i], a.end[i+1:]
	}
	to, err := b.space(path)
	if err != nil {
		return err
	}
	return s.move(a.key, to, name)
}

func writeIn(s space, a action) (result string, err error) {
	r := rangeOf(a)
	done := false
	switch a.verb {
	case "put":
		err = s.put(a.key, a.value.String(), 0)
	case "expire":
		err = s.put(a.key, a.value.String(), time.Duration(max(a.n, 1))*time.Millisecond)
	case "delete":
		err = s.delete(a.key)
	case "deleterange":
		err = s.deleteRange(r)
	case "swap", "remove":
		var old *string
		if old, err = oldValue(s, a); err == nil && a.verb == "swap" {
			done, err = s.swap(a.key, old, a.value.String())
		} else if err == nil {
			done, err = s.remove(a.key, old)
		}
		return fmt.Sprint(done), err
	case "create":
		err = s.create(a.key)
	case "drop":
		err = s.drop(a.key)
	case "next":
		var n uint64
		n, err = s.next()
		return fmt.Sprint(n), err
	case "setsequence":
		err = s.setSequence(uint64(a.n))
	case "fill":
		for _, e := range numberedPairs(a) {
			err = errors.Join(err, s.put(e.Key, e.Value, 0))
		}
	}
	return "", err
}

// oldValue returns the value that a comparison expects, nil for an absent key.
func oldValue(s space, a action) (*string, error) {
	switch a.old.shape {
	case absent:
		return nil, nil
	case current:
		value, err := s.get(a.key)
		if errors.Is(err, stoat.ErrNotFound) {
			return nil, nil
		}
		return &value, err
	}
	value := a.old.String()
	return &value, nil
}

func rangeOf(a action) stoat.Range {
	return stoat.Range{Start: []byte(a.key), End: []byte(a.end), Reverse: a.reverse, Limit: a.n}
}

func readIn(s space, a action) string {
	switch a.verb {
	case "get":
		value, err := s.get(a.key)
		return short(value) + " " + class(err)
	case "has":
		has, err := s.has(a.key)
		return fmt.Sprint(has, " ", class(err))
	case "scan":
		entries, err := s.scan(rangeOf(a))
		return entriesText(entries) + class(err)
	case "keys":
		keys, err := s.keys(rangeOf(a))
		return fmt.Sprint(len(keys), " ", short(strings.Join(keys, "\x00")), " ", class(err))
	case "ttl":
		ttl, expires, err := s.ttl(a.key)
		return fmt.Sprint(ttl, " ", expires, " ", class(err))
	case "buckets":
		names, err := s.buckets()
		return fmt.Sprintf("%q %s", names, class(err))
	}
	n, err := s.sequence()
	return fmt.Sprint(n, " ", class(err))
}

// entriesText returns the first entries and a checksum of all.
func entriesText(entries []model.Entry) string {
	var all, first strings.Builder
	for i, e := range entries {
		fmt.Fprintf(&all, "%d %s%d %s", len(e.Key), e.Key, len(e.Value), e.Value)
		if i < 3 {
			fmt.Fprintf(&first, "%s = %s; ", short(e.Key), short(e.Value))
		}
	}
	return fmt.Sprintf("%d entries %08x: %s", len(entries), sumOf(all.String()), first.String())
}

func sumOf(s string) uint32 { return crc32.ChecksumIEEE([]byte(s)) }

// short abbreviates a text of any length.
func short(s string) string {
	if len(s) <= 24 {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%.16q (%d bytes, %08x)", s, len(s), sumOf(s))
}

// stateOf describes the contents of a whole database.
func stateOf(b *model.Bucket, err error) string {
	if err != nil {
		return class(err)
	}
	return fmt.Sprintf("state %08x, %d keys", sumOf(contents(b)), b.Len())
}

// contents returns the contents of a bucket as text.
func contents(b *model.Bucket) string {
	text := fmt.Sprint(b.Sequence(), entriesText(b.Scan("", "", false, 0)))
	for _, name := range b.Buckets() {
		text += fmt.Sprintf("{%q %s}", name, contents(b.Bucket(name)))
	}
	return text
}

// class returns the kind of an error as text.
func class(err error) string {
	if err == nil {
		return "ok"
	}
	for _, kind := range []error{
		stoat.ErrNotFound, stoat.ErrBucketNotFound, stoat.ErrBucketExists, stoat.ErrInvalidKey,
		stoat.ErrTooLarge, stoat.ErrTxClosed, stoat.ErrReadOnly,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	if strings.Contains(err.Error(), intoItself) {
		return intoItself
	}
	return "error: " + err.Error()
}
