package session

import (
	"bufio"
	"context"
	"maps"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// A session in which nothing happens notices that the peer may read the space now, however late the
// peer said what it has.
func TestAccess_isNoticedWhileNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(1, 1)
		m.readers = map[[32]byte]bool{}
		x, y := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		c := config(m)
		c.Once = false
		done := make(chan error, 1)
		go func() { done <- New(c).Run(ctx, x) }()
		a := &attacker{t: t, conn: y, in: bufio.NewReader(y), m: newMemory(1, 66)}
		a.greet()
		said := make(chan kind, 100)
		go func() {
			defer close(said)
			for {
				k, _, err := readFrame(a.in, func() {})
				if err != nil {
					return
				}
				said <- k
			}
		}()
		synctest.Wait()
		a.write(frameToken, (&reach{few: true}).append(nil))
		synctest.Wait()
		m.mu.Lock()
		m.readers[a.m.Key()] = true
		m.wakeLocked()
		m.mu.Unlock()
		synctest.Wait()
		cancel()
		<-done
		gave := false
		for k := range said {
			gave = gave || k == frameHeads || k == framePacked
		}
		if !gave {
			t.Error("it gives nothing to a device that may read")
		}
	})
}

// fresh is a replica that has nothing, and no checkpoint.
type fresh struct{ *memory }

func (f *fresh) Starts() (bool, error) { return true, nil }

// What a device asks for that may not read the space yet is answered when it may.
func TestAccess_answersWhatWasAskedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, sink := newMemory(1, 1), newMemory(1, 2)
		source.readers = map[[32]byte]bool{}
		here, there := config(source), config(sink)
		here.Once, there.Once, there.FromCheckpoint = false, false, true
		there.Spaces = []Space{&fresh{sink}}
		x, y := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- New(here).Run(ctx, x) }()
		go func() { done <- New(there).Run(ctx, y) }()
		synctest.Wait()
		source.mu.Lock()
		source.readers[sink.Key()] = true
		source.wakeLocked()
		source.mu.Unlock()
		synctest.Wait()
		cancel()
		<-done
		<-done
		equal(t, source, sink)
	})
}

// partial is a replica without the content of a log.
type partial struct {
	*memory
	without uint32
	asked   []uint64 // the arrivals after which it announced
}

func (p *partial) Run(log uint32, first uint64, to *Reader) (*Run, error) {
	if log == p.without {
		return nil, ErrLacking
	}
	return p.memory.Run(log, first, to)
}

func (p *partial) Announce(after uint64, most int) ([]Head, Position, bool, error) {
	p.mu.Lock()
	p.asked = append(p.asked, after)
	p.mu.Unlock()
	return p.memory.Announce(after, most)
}

// A replica that cannot give what arrives announces that, and not again what it announced before.
func TestSession_announcesWhatItLacksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &partial{memory: newMemory(1, 1)}, newMemory(1, 2)
		for i := range 20 {
			a.addLog(9, i, 1)
		}
		a.without = 1
		here, there := config(a.memory), config(b)
		here.Spaces = []Space{a}
		here.Once, there.Once = false, false
		x, y := net.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- New(here).Run(ctx, x) }()
		go func() { done <- New(there).Run(ctx, y) }()
		synctest.Wait()
		a.asked = nil
		for range 5 {
			before := uint64(len(a.growths))
			a.grow(1)
			synctest.Wait()
			for _, after := range a.asked {
				if after < before {
					t.Errorf("it announces what came after %d instead of %d", after, before)
				}
			}
			a.asked = nil
		}
		cancel()
		<-done
		<-done
	})
}

// A session knows how far another one with the same peer has got that lasts.
func TestSession_beginsWhereOthersAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newMemory(1, 1), newMemory(1, 2)
		meet(t, a, b)
		lasting := live(t, a, b)
		for range 5 {
			a.write("a")
			synctest.Wait()
			b.write("b")
			synctest.Wait()
		}
		equal(t, a, b)
		here, there := a.applied, b.applied
		meet(t, a, b)
		if a.applied != here || b.applied != there {
			t.Errorf("%d and %d runs came again", a.applied-here, b.applied-there)
		}
		lasting.end()
	})
}

// eventful is a replica that something is written to while a session looks at it.
type eventful struct {
	*memory
	during string       // the method
	left   atomic.Int32 // calls until then
}

func (e *eventful) happens(during string) {
	if e.during != during {
		return
	}
	if e.left.Add(-1) == 0 {
		e.write("meanwhile")
	}
}

func (e *eventful) News(after uint64) ([]News, Position, bool) {
	defer e.happens("News")
	return e.memory.News(after)
}

func (e *eventful) Seal() error {
	defer e.happens("Seal")
	return e.memory.Seal()
}

func (e *eventful) Sync() error {
	defer e.happens("Sync")
	return e.memory.Sync()
}

func (e *eventful) MayRead(device [32]byte) (reason, err error) {
	defer e.happens("MayRead")
	return e.memory.MayRead(device)
}

// What is written after a session has looked, and before it waits, is not missed.
func TestSession_missesNothingBeforeItWaits(t *testing.T) {
	for _, during := range []string{"News", "Seal", "Sync", "MayRead"} {
		for call := range 8 {
			synctest.Test(t, func(t *testing.T) {
				a, b := &eventful{memory: newMemory(1, 1), during: during}, newMemory(1, 2)
				here, there := config(a.memory), config(b)
				here.Spaces = []Space{a}
				here.Once, there.Once = false, false
				x, y := net.Pipe()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 2)
				go func() { done <- New(here).Run(ctx, x) }()
				go func() { done <- New(there).Run(ctx, y) }()
				synctest.Wait()
				a.left.Store(int32(1 + call))
				a.write("now")
				synctest.Wait()
				if !maps.Equal(a.contents(), b.contents()) {
					t.Errorf("what is written in call %d of %s does not arrive", 1+call, during)
				}
				cancel()
				<-done
				<-done
			})
		}
	}
}

// A peer that announces again and again what it cannot give is not taken for one that never ends.
func TestSession_ofAPeerThatLacksMuch(t *testing.T) {
	s := New(config(newMemory(1, 1)))
	s.space, s.peer = s.config.Spaces[0], &auth{}
	for range 3 * idleMax {
		if err := s.mergeHeads((&headsPage{last: true}).append(nil)); err != nil {
			t.Fatal(err)
		}
		if err := s.mergeMark(&mark{}); err != nil {
			t.Fatal(err)
		}
		s.acks, s.out = nil, nil
	}
}

// A device that may not read cannot make this replica forget how far it has what others have.
func TestAttack15_tokensOfStrangers(t *testing.T) {
	victim := newMemory(1, 1)
	victim.readers = map[[32]byte]bool{}
	_ = attack(t, config(victim), greeted(func(a *attacker) {
		a.write(frameToken, (&reach{few: true}).append(nil))
		a.write(frameMark, (&mark{final: true, token: Token{Batch: 1}}).append(nil))
	}))
	if len(victim.tokens) > 0 {
		t.Errorf("it keeps %d tokens", len(victim.tokens))
	}
}
