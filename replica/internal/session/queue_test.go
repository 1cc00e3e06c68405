package session

import (
	"bytes"
	"errors"
	"net"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// stuck is a replica that does not get on with fork proofs.
type stuck struct {
	*memory
	release chan struct{}
}

func (s *stuck) Prove([]byte) error {
	<-s.release
	return errMemory
}

// newStuck returns a session with such a replica whose queue is not handled until end is called.
func newStuck(t *testing.T) (s *Session, end func()) {
	m := &stuck{newMemory(1, 1), make(chan struct{})}
	s = New(config(m.memory))
	s.space, s.peer = m, &auth{}
	if err := s.receiveWhole(frameProof, []byte{1}); err != nil {
		t.Fatal(err)
	}
	return s, func() {
		close(m.release)
		s.work.Wait()
	}
}

// Things for which a peer needs hardly any credit, or none, do not pile up while others are merged.
func TestAttack15_smallThings(t *testing.T) {
	for _, content := range [][]byte{{}, {1}} {
		s, end := newStuck(t)
		var err error
		for n := 0; err == nil; n++ {
			if n > 2*queueMax {
				t.Fatalf("%d things wait", len(s.sink.queue))
			}
			err = s.receiveWhole(frameChunk, content)
		}
		if !errors.Is(err, ErrPeer) {
			t.Errorf("got %v", err)
		}
		end()
	}
}

// A run that waits does not keep the frames in memory that it was packed with.
func TestAttack14_smallRunsInLargePacks(t *testing.T) {
	source := newMemory(1, 2)
	_ = source.Seal()
	run, err := source.Run(0, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	frames := appendFrame(nil, frameRun, run.append(nil))
	refusal := refused{reason: string(make([]byte, textMax))}
	noise := appendFrame(nil, frameRefused, refusal.append(nil))
	frames = append(frames, bytes.Repeat(noise, (unpackedMax-len(frames))/len(noise))...)
	z, err := zstd.NewWriter(nil, zstd.WithWindowSize(unpackedMax))
	if err != nil {
		t.Fatal(err)
	}
	packed := z.EncodeAll(frames, nil)
	s, end := newStuck(t)
	defer end()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const packs = 64
	for range packs {
		if err := s.unpack(packed); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > packs*unpackedMax/4 {
		t.Errorf("%d runs of %d bytes keep %d bytes", packs, len(run.append(nil)), kept)
	}
	runtime.KeepAlive(s)
}

// Acknowledgements that a peer causes and does not read are bounded.
func TestAttack15_acknowledgementsThatNobodyReads(t *testing.T) {
	s := New(config(newMemory(1, 1)))
	for n := 0; s.failure() == nil; n++ {
		if len(s.acks) > 2*outMax {
			t.Fatalf("%d bytes wait", len(s.acks))
		}
		s.mu.Lock()
		s.acknowledgeLocked(ack{})
		s.mu.Unlock()
	}
	if !errors.Is(s.failure(), ErrPeer) {
		t.Errorf("got %v", s.failure())
	}
}

// A peer that does not wait for answers to ranges does no harm. The race detector sees what it
// would do.
func TestAttack13_rangesBehindTheLast(t *testing.T) {
	s := New(config(newMemory(1, 1)))
	s.space, s.peer = s.config.Spaces[0], &auth{}
	p := (&spans{last: true}).append(nil)
	for s.failure() == nil {
		if err := s.receiveRanges(p); err != nil {
			s.fail(err)
		}
	}
	s.work.Wait()
	if !errors.Is(s.failure(), ErrPeer) {
		t.Errorf("got %v", s.failure())
	}
}

// frozen is a replica with fork proofs of all logs, which are large, and takes them.
type frozen struct{ *memory }

func (f *frozen) Announce(after uint64, most int) ([]Head, Position, bool, error) {
	heads, at, more, err := f.memory.Announce(after, most)
	for i := range heads {
		heads[i].Cut = true
	}
	return heads, at, more, err
}

func (f *frozen) Proof(uint32) (*Proof, error) {
	return &Proof{Encoded: bytes.Repeat([]byte{1}, 60<<10)}, nil
}
func (f *frozen) Prove([]byte) error { return nil }

// A source of fork proofs gets credit for them, though it sends nothing else.
func TestSession_ofManyFrozenLogs(t *testing.T) {
	a, b := &frozen{newMemory(1, 1)}, &frozen{newMemory(1, 2)}
	for i := range 2 * window / (60 << 10) {
		a.addLog(9, i, 1)
	}
	meet(t, a.memory, b.memory)
	a.forgets = true
	b.tokens = map[[16]byte]Token{}
	here, there := config(a.memory), config(b.memory)
	here.Spaces, there.Spaces = []Space{a}, []Space{b}
	x, y := net.Pipe()
	if here, there := run(t, here, there, x, y); here != nil || there != nil {
		t.Fatal(here, there)
	}
}
