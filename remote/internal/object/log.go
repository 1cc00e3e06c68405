package object

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
)

const (
	// WriterBytesMax is the length of the longest name of a writer.
	WriterBytesMax = 255
	// WindowMax is the most requests that a writer may have in flight.
	WindowMax = 16
)

// The kinds of parts. The numbers are stored and never reused.
const (
	partClaim   = 1
	partCommits = 2
	partEdit    = 3
	partBound   = 4
	partOrigin  = 5
	partBarrier = 6
)

// Log is a log object: a claim, a barrier, or what a writer has done, in its order.
type Log struct {
	Header
	Claim   *Claim // if not nil, there are no parts, unless it begins a clone
	Barrier bool   // it stops writers of its epoch and before, and all others skip it; no parts
	Parts   []Part
}

// Claim is what takes the role of the writer.
type Claim struct {
	Writer string // a name for people
	Branch uint64 // that the history has from here on
	Base   uint64 // the number of the state from which the claimant has read the log; 0: none
	Window uint64 // how many requests the writer will have in flight, 1 to WindowMax
}

// Part is one thing that a writer has done: one of the fields is set.
type Part struct {
	Commits *Commits
	Edit    *manifest.Edit // of the version; the files that it names have been stored
	Bound   uint64         // the unlink bound: files retired up to this number may be deleted

	// Origin is that of a clone, in its first object. The zero value says, in a later one, that the
	// clone has none any more.
	Origin *Origin
}

// Commits is a sequence of commits.
type Commits struct {
	First   uint64   // the number of the first one
	Batches [][]byte // of each, as in docs/format.md; not empty, and not verified
}

// Last returns the number of the last commit.
func (c *Commits) Last() uint64 { return c.First + uint64(len(c.Batches)) - 1 }

// logRawMax is the most that the payload of a log object may hold, unless it has an edit and no
// commits.
const logRawMax = 2 * LogBytesMax

// EncodeLog returns a log object. It is an error if readers would refuse it. If it is larger than
// [LogBytesMax], or [EditBytesMax] with an edit and no commits, the error is ErrTooLarge.
func (c *Codec) EncodeLog(l *Log) ([]byte, error) {
	err := errors.Join(l.check(logKind), l.verify())
	var unsealed, p []byte
	if err == nil {
		unsealed = l.unsealed()
		err = l.fits(len(unsealed)-HeaderBytes, 0)
	}
	if err == nil {
		p, err = c.seal(&l.Header, logKind, l.version(), unsealed)
	}
	if err == nil {
		err = l.fits(len(unsealed)-HeaderBytes, len(p))
	}
	if err != nil {
		return nil, fmt.Errorf("encode log object %d: %w", l.Number, err)
	}
	return p, nil
}

// fits returns an error if an object is too large for what it is: its commits would wait for all of
// it. Nothing waits for those of a clone.
func (l *Log) fits(rawBytes, storedBytes int) error {
	hasEdit := slices.ContainsFunc(l.Parts, func(p Part) bool { return p.Edit != nil })
	hasCommits := slices.ContainsFunc(l.Parts, func(p Part) bool { return p.Commits != nil })
	small := rawBytes <= logRawMax && storedBytes <= LogBytesMax
	if small || hasEdit && !hasCommits || l.Claim != nil {
		return nil
	}
	return fmt.Errorf("%d bytes, %d stored: %w", rawBytes, storedBytes, ErrTooLarge)
}

// unsealed returns room for the header, and the payload.
func (l *Log) unsealed() []byte {
	object := make([]byte, HeaderBytes)
	if l.Claim != nil {
		object = appendPart(object, partClaim, l.Claim.append(nil))
	}
	if l.Barrier {
		object = appendPart(object, partBarrier, nil)
	}
	for i := range l.Parts {
		switch p := &l.Parts[i]; {
		case p.Commits != nil:
			object = p.Commits.appendPart(object)
		case p.Edit != nil:
			object = appendPart(object, partEdit, manifest.AppendEdit(nil, p.Edit))
		case p.Origin != nil && *p.Origin == Origin{}:
			object = appendPart(object, partOrigin, nil)
		case p.Origin != nil:
			object = appendPart(object, partOrigin, p.Origin.append(nil))
		default:
			object = appendPart(object, partBound, binary.AppendUvarint(nil, p.Bound))
		}
	}
	return object
}

func appendPart(dst []byte, kind byte, body []byte) []byte {
	return appendBytes(append(dst, kind), body)
}

func (c *Claim) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, c.Branch)
	return appendBytes(appendUvarints(dst, c.Base, c.Window), []byte(c.Writer))
}

// appendPart appends the commits as a part, whose bytes are known before, so that megabytes of them
// are copied once.
func (c *Commits) appendPart(dst []byte) []byte {
	head := appendUvarints(nil, c.First, uint64(len(c.Batches)))
	size, scratch := len(head), make([]byte, 0, binary.MaxVarintLen64)
	for _, b := range c.Batches {
		size += len(binary.AppendUvarint(scratch, uint64(len(b)))) + len(b)
	}
	dst = slices.Grow(dst, 1+binary.MaxVarintLen64+size)
	dst = append(binary.AppendUvarint(append(dst, partCommits), uint64(size)), head...)
	for _, b := range c.Batches {
		dst = appendBytes(dst, b)
	}
	return dst
}

// DecodeLog decodes a log object. The name is for errors.
func (c *Codec) DecodeLog(name string, p []byte) (*Log, error) {
	h, payload, err := c.open(name, p, logKind)
	if err != nil {
		return nil, err
	}
	l := &Log{Header: h}
	d := decoder{rest: payload}
	for d.err == nil && len(d.rest) > 0 {
		l.decodePart(&d)
	}
	if err = d.end(); err == nil {
		err = errors.Join(wantVersion(p, l.version()), l.verify(), l.fits(len(payload), len(p)))
	}
	if err != nil {
		return nil, corrupt.New(name, HeaderBytes, "%v", err)
	}
	return l, nil
}

// decodePart decodes one part of the payload.
func (l *Log) decodePart(d *decoder) {
	kind := d.fixed(1)[0]
	body := decoder{rest: d.bytes()}
	if d.err != nil {
		return
	}
	switch kind {
	case partClaim:
		if l.Claim != nil || len(l.Parts) > 0 {
			d.fail("a claim after other parts")
			return
		}
		l.Claim = &Claim{
			Branch: body.word(), Base: body.number(), Window: body.number(),
			Writer: string(body.bytes()),
		}
	case partBarrier:
		if l.Barrier {
			d.fail("two barriers")
			return
		}
		l.Barrier = true
	case partCommits:
		l.Parts = append(l.Parts, Part{Commits: body.commits()})
	case partEdit:
		edit, err := manifest.DecodeEdit(body.rest)
		body.rest, body.err = nil, err
		l.Parts = append(l.Parts, Part{Edit: edit})
	case partBound:
		l.Parts = append(l.Parts, Part{Bound: body.number()})
	case partOrigin:
		origin := new(Origin)
		if len(body.rest) > 0 {
			origin = body.origin()
		}
		l.Parts = append(l.Parts, Part{Origin: origin})
	default:
		body.err = errors.New("the kind is unknown")
	}
	if err := body.end(); err != nil {
		d.fail("part of kind %d: %w", kind, err)
	}
}

// commits decodes the body of a part.
func (d *decoder) commits() *Commits {
	c := &Commits{First: d.number()}
	c.Batches = make([][]byte, d.count(2))
	for i := range c.Batches {
		c.Batches[i] = d.bytes()
	}
	return c
}

// verify returns an error if no writer makes such a payload.
func (l *Log) verify() error {
	clones, first := l.clones(), uint64(1)
	if clones {
		first += l.Parts[0].Origin.Epoch
	}
	switch {
	case l.Barrier && (l.Claim != nil || len(l.Parts) > 0 || l.Number == 1):
		return errors.New("a barrier with something else, or nothing before it")
	case (l.Claim == nil) == (len(l.Parts) == 0) && !clones && !l.Barrier:
		return errors.New("neither a claim alone nor parts")
	case l.Number == 1 && l.Epoch != first:
		return fmt.Errorf("the log begins with epoch %d, not %d", l.Epoch, first)
	}
	if l.Claim != nil {
		if err := l.Claim.verify(l.Number); err != nil {
			return err
		}
	}
	for i := range l.Parts {
		if err := l.Parts[i].verify(l.Number, clones && i == 0); err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of the object.
func (l *Log) version() uint32 {
	switch {
	case l.Barrier:
		return versionBarrier
	case len(l.Parts) == 0:
		return version
	}
	return l.Parts[0].Origin.version()
}

// clones reports whether the object begins a clone: a claim with its origin, and what it has.
func (l *Log) clones() bool {
	return l.Number == 1 && l.Claim != nil && len(l.Parts) > 0 && l.Parts[0].Origin != nil
}

// verify checks the claim of log object n.
func (c *Claim) verify(n uint64) error {
	switch {
	case c.Branch == 0:
		return errors.New("the claim has no branch")
	case c.Base >= n:
		return fmt.Errorf("claim %d has base %d", n, c.Base)
	case c.Window == 0 || c.Window > WindowMax:
		return fmt.Errorf("the window is %d, must be 1 to %d", c.Window, WindowMax)
	case len(c.Writer) > WriterBytesMax:
		return fmt.Errorf("the writer's name has %d bytes, at most %d", len(c.Writer), WriterBytesMax)
	}
	return nil
}

// verify checks a part of log object n, which has an origin if it begins a clone.
func (p *Part) verify(n uint64, clones bool) error {
	switch {
	case clones:
		return p.Origin.verify()
	case p.Origin != nil && *p.Origin == Origin{}:
		return nil
	case p.Origin != nil:
		return fmt.Errorf("log object %d does not begin a clone, and has an origin", n)
	case p.Commits != nil && p.Edit == nil && p.Bound == 0:
		return p.Commits.verify()
	case p.Commits == nil && p.Edit != nil && p.Bound == 0:
		return nil
	case p.Commits == nil && p.Edit == nil && 0 < p.Bound && p.Bound < n:
		return nil
	}
	return fmt.Errorf("a part of log object %d with unlink bound %d is invalid", n, p.Bound)
}

func (c *Commits) verify() error {
	if c.First == 0 || len(c.Batches) == 0 || c.First > numberMax-uint64(len(c.Batches)) {
		return fmt.Errorf("there are %d commits from %d on", len(c.Batches), c.First)
	}
	for i, b := range c.Batches {
		if len(b) == 0 {
			return fmt.Errorf("commit %d is empty", c.First+uint64(i))
		}
	}
	return nil
}
