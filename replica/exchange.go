package replica

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Limits of an exchange.
const (
	headsMax = 1 << 12       // logs in a frame
	frameMax = 17 << 20      // bytes of a frame: a run and one entry more
	batchMax = 4 << 20       // bytes of runs that are merged in one transaction
	helloMax = 32 + 2 + 2048 // the id of a space, and its description
)

// The frames of an exchange: u32 length, type, content. Both sides send hello, heads, the runs that
// the other lacks, and done. The last frame of heads is the first with fewer than headsMax.
const (
	frameHello byte = 1 // the id of the space and its description, which may be empty
	frameHeads byte = 2 // uvarint count; each a log, the uvarint number of its entries, and the
	// hash of the last; by ascending log
	frameRun  byte = 3 // log, uvarint first, uvarint count, texts, seal
	frameDone byte = 4 // empty
)

// errPeer reports a peer that does not keep to the protocol.
var errPeer = errors.New("the peer does not keep to the protocol")

// Exchange gives the peer at the other end of conn the entries that it lacks and takes those that
// are missing here, verifies and merges them, and returns. The peer must call Exchange as well. It
// closes conn.
//
// Exchange is the simplest thing that brings two replicas together: it compares the heads of all
// logs, and it neither authenticates nor encrypts, so use it between programs that trust the
// connection. What was merged before an error stays, and a later call continues from there.
func Exchange(ctx context.Context, s *Space, conn io.ReadWriteCloser) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	err := s.Seal()
	if err == nil {
		err = (&exchange{space: s, conn: conn, theirs: make(chan map[entry.Hash]uint64, 1)}).run()
	}
	if closed := conn.Close(); err == nil && ctx.Err() == nil {
		err = closed
	}
	return cmp.Or(ctx.Err(), err)
}

// exchange is one call of Exchange.
type exchange struct {
	space  *Space
	conn   io.ReadWriteCloser
	theirs chan map[entry.Hash]uint64 // the peer's heads, once
}

// run sends and receives at the same time, since the peer does: neither waits for the other to
// read.
func (x *exchange) run() error {
	sent := make(chan error, 1)
	go func() { // ends with the connection
		err := x.send()
		if err != nil {
			_ = x.conn.Close()
		}
		sent <- err
	}()
	refused, received := x.receive()
	if received != nil {
		_ = x.conn.Close()
	}
	close(x.theirs)
	err := <-sent
	if received != nil && !errors.Is(received, io.ErrClosedPipe) {
		err = received
	}
	return errors.Join(refused, cmp.Or(err, received))
}

// send sends what the peer lacks.
func (x *exchange) send() error {
	var described []byte
	var heads []*head
	err := x.space.db.View(func(tx *stoat.Tx) error {
		p, err := x.space.description(tx)
		if err != nil {
			return err
		}
		described = append(described, p...)
		t, err := x.space.in(tx)
		if err == nil {
			heads, err = t.sealedHeads()
		}
		return err
	})
	if err != nil {
		return err
	}
	err = x.write(frameHello, wire.AppendBytes(append([]byte{}, x.space.id[:]...), described))
	if err == nil {
		err = x.sendHeads(heads)
	}
	theirs, ok := <-x.theirs
	if err != nil || !ok {
		return err
	}
	if err := x.sendMissing(heads, theirs); err != nil {
		return err
	}
	return x.write(frameDone, nil)
}

// cursor is a log on its way to the peer.
type cursor struct {
	*head
	seq  uint64 // the next entry to send
	time hlc.Time
}

// sendMissing sends the runs that the peer lacks. It goes by the times of their first entries, so
// that entries mostly arrive after what they follow.
func (x *exchange) sendMissing(heads []*head, theirs map[entry.Hash]uint64) error {
	var cursors []*cursor
	for _, h := range heads {
		c := &cursor{head: h, seq: theirs[h.id]}
		if c.seq >= h.sealed {
			continue
		}
		if err := x.look(c); err != nil {
			return err
		}
		cursors = append(cursors, c)
	}
	for len(cursors) > 0 {
		c := slices.MinFunc(cursors, func(a, b *cursor) int { return cmp.Compare(a.time, b.time) })
		if err := x.sendRun(c); err != nil {
			return err
		}
		cursors = slices.DeleteFunc(cursors, func(c *cursor) bool { return c.seq >= c.sealed })
	}
	return nil
}

// look sets the time of the next entry of a cursor, if there is one.
func (x *exchange) look(c *cursor) error {
	if c.seq >= c.sealed {
		return nil
	}
	return x.space.db.View(func(tx *stoat.Tx) error {
		t, err := x.space.in(tx)
		if err != nil {
			return err
		}
		c.time, err = t.timeOf(spot{c.number, c.seq})
		return err
	})
}

// sendRun sends the next run of a log.
func (x *exchange) sendRun(c *cursor) error {
	var r *run
	err := x.space.db.View(func(tx *stoat.Tx) error {
		t, err := x.space.in(tx)
		if err == nil {
			r, err = t.runFrom(c.head, c.seq)
		}
		return err
	})
	if err == nil {
		err = x.write(frameRun, r.append(nil))
	}
	if err != nil {
		return err
	}
	c.seq += uint64(len(r.entries))
	return x.look(c)
}

// append appends a run as it is sent.
func (r *run) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, r.log[:]...), r.first)
	dst = binary.AppendUvarint(dst, uint64(len(r.entries)))
	for _, e := range r.entries {
		dst = wire.AppendBytes(dst, e)
	}
	return append(dst, r.seal[:]...)
}

// parseRun decodes a run, which refers to p.
func parseRun(p []byte) (*run, error) {
	r := wire.NewReader(p)
	got := &run{log: r.Hash(), first: r.Uvarint()}
	if got.first >= 1<<48 {
		r.Fail("an entry has the number %d", got.first)
	}
	got.entries = make([][]byte, r.Count(runEntries, 1))
	for i := range got.entries {
		got.entries[i] = r.Bytes(1, entry.SizeMax)
	}
	copy(got.seal[:], r.Take(len(got.seal)))
	return got, r.End()
}

// receive merges what the peer sends. Refused is about entries that are not valid: others are
// exchanged nevertheless.
func (x *exchange) receive() (refused, err error) {
	if err := x.receiveHello(); err != nil {
		return nil, err
	}
	theirs, err := x.receiveHeads()
	if err != nil {
		return nil, err
	}
	x.theirs <- theirs
	var runs []*run
	refusals := 0
	size := 0
	for done := false; !done; {
		kind, p, err := x.readAny(frameMax)
		if err == nil && kind != frameRun && kind != frameDone {
			err = fmt.Errorf("%w: a frame of type %d", errPeer, kind)
		}
		if err != nil {
			return refused, err
		}
		if done = kind == frameDone; !done {
			r, err := parseRun(p)
			if err != nil {
				return refused, fmt.Errorf("%w: %w", errPeer, err)
			}
			runs, size = append(runs, r), size+r.size()
		}
		if done || size > batchMax { // at the end, what waits may have become ready
			err := x.space.apply(runs)
			if err != nil && !errors.Is(err, ErrInvalid) {
				return refused, err
			}
			if err != nil {
				refused = errors.Join(refused, err)
				refusals++
			}
			runs, size = nil, 0
		}
		if refusals > 16 {
			return refused, errPeer
		}
	}
	return refused, nil
}

// receiveHello checks that the peer has the same space, and takes its description if it is not
// known yet.
func (x *exchange) receiveHello() error {
	p, err := x.read(frameHello, helloMax)
	if err != nil {
		return err
	}
	r := wire.NewReader(p)
	id := entry.Hash(r.Hash())
	described := r.Bytes(0, helloMax)
	switch err := r.End(); {
	case err != nil:
		return fmt.Errorf("%w: %w", errPeer, err)
	case id != x.space.id:
		return fmt.Errorf("%w: it has the space %s", errPeer, SpaceID(id))
	case len(described) == 0:
		return nil
	}
	about, err := entry.ParseSpace(described)
	if err == nil && about.ID() != id {
		err = invalid("the description of the space")
	}
	if err != nil {
		return err
	}
	return x.space.describe(described)
}

// describe stores the description of the space, unless it is known.
func (s *Space) describe(described []byte) error {
	known := false
	err := s.db.View(func(tx *stoat.Tx) error {
		p, err := s.description(tx)
		known = p != nil
		return err
	})
	if err != nil || known {
		return err
	}
	err = s.db.Update(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		return t.meta.Put([]byte(keyDescription), described)
	})
	if err != nil {
		return err
	}
	return s.readLimits()
}

// write sends a frame.
func (x *exchange) write(kind byte, p []byte) error {
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(p)+1)), kind)
	_, err := x.conn.Write(append(head, p...))
	return err
}

// read receives the content of a frame of a type.
func (x *exchange) read(want byte, most int) ([]byte, error) {
	kind, p, err := x.readAny(most)
	if err == nil && kind != want {
		err = fmt.Errorf("%w: a frame of type %d instead of %d", errPeer, kind, want)
	}
	return p, err
}

// readAny receives a frame. It allocates as bytes arrive, not by the length that the peer claims.
func (x *exchange) readAny(most int) (kind byte, p []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(x.conn, head[:]); err != nil {
		return 0, nil, fmt.Errorf("read from the peer: %w", err)
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n == 0 || uint64(n-1) > uint64(most) {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes", errPeer, n)
	}
	for left := int(n - 1); left > 0; {
		from := len(p)
		p = append(p, make([]byte, min(left, 64<<10))...)
		if _, err := io.ReadFull(x.conn, p[from:]); err != nil {
			return 0, nil, fmt.Errorf("read from the peer: %w", err)
		}
		left = int(n-1) - len(p)
	}
	return head[4], p, nil
}
