package session

import (
	"bufio"
	"context"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
)

// permit lets a device read from now on, or no longer.
func (m *memory) permit(device [32]byte, may bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readers = map[[32]byte]bool{device: may}
	m.wakeLocked()
}

// reader is a peer that gives nothing, and says by itself what it wants.
type reader struct {
	*attacker
	m     *memory // of the victim
	heads [][]Head
	runs  map[[prefixSize]byte]int
	done  chan error
}

// newReader begins a session with a replica.
func newReader(t *testing.T, ctx context.Context, m *memory) *reader {
	x, y := net.Pipe()
	a := &attacker{t: t, conn: y, in: bufio.NewReader(y), m: newMemory(1, 66)}
	r := &reader{attacker: a, m: m, runs: map[[prefixSize]byte]int{}, done: make(chan error, 1)}
	m.permit(a.m.Key(), true)
	c := config(m)
	c.Once = false
	go func() { r.done <- New(c).Run(ctx, x) }()
	a.greet()
	go r.listen()
	return r
}

// listen notes what the victim gives.
func (r *reader) listen() {
	for {
		k, p, err := readFrame(r.in, func() {})
		if err != nil {
			return
		}
		if k != framePacked {
			r.note(k, p)
			continue
		}
		z, err := decoder()
		if err != nil {
			return
		}
		for frames, _ := z.DecodeAll(p, make([]byte, 0, unpackedMax)); len(frames) > 0; {
			if k, p, frames, err = cutFrame(frames); err != nil {
				return
			}
			r.note(k, p)
		}
	}
}

// note notes a frame.
func (r *reader) note(k kind, p []byte) {
	switch k {
	case frameHeads:
		if page, err := parseHeads(p); err == nil && len(page.heads) > 0 {
			r.heads = append(r.heads, page.heads)
		}
	case frameRun:
		if run, _, err := parseRun(p); err == nil {
			r.runs[[prefixSize]byte(run.Log[:])]++
		}
	}
}

// warm makes what sessions share, which must not be of a bubble.
func warm(t *testing.T) {
	t.Helper()
	z, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	d, err := decoder()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 * runtime.GOMAXPROCS(0) { // each encoder, and each decoder, has its own memory
		if _, err := d.DecodeAll(z.EncodeAll(make([]byte, unpackedMax), nil),
			make([]byte, 0, unpackedMax)); err != nil {
			t.Fatal(err)
		}
	}
}

// want answers a page: all logs on it are wanted.
func (r *reader) want(page []Head) {
	w := wants{answer: true}
	for i := range page {
		w.choices = append(w.choices, choice{i, 0})
	}
	r.write(frameWant, w.append(nil))
}

// A device whose right is taken and given back during a session may answer late what it was sent
// before: the session goes on, and gives it everything.
func TestAccess_goesOnWithARightThatIsGivenBack(t *testing.T) {
	warm(t)
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory(1, 1)
			for i := range 5 {
				m.addLog(9, i, 3)
			}
			ctx, cancel := context.WithCancel(t.Context())
			r := newReader(t, ctx, m)
			r.write(frameToken, (&reach{few: true}).append(nil))
			synctest.Wait()
			if len(r.heads) != 1 {
				t.Fatalf("%d pages", len(r.heads))
			}
			m.permit(r.attacker.m.Key(), false)
			synctest.Wait()
			if !late {
				r.want(r.heads[0])
				synctest.Wait()
			}
			m.addLog(9, 5, 3)
			m.permit(r.attacker.m.Key(), true)
			synctest.Wait()
			if late {
				r.want(r.heads[0])
			}
			r.want(r.heads[len(r.heads)-1])
			synctest.Wait()
			if len(r.heads) != 2 || len(r.runs) != 6 {
				t.Errorf("late: %t: %d pages, and runs of %d logs", late, len(r.heads), len(r.runs))
			}
			select {
			case err := <-r.done:
				t.Errorf("late: %t: the session ended: %v", late, err)
				r.done <- err
			default:
			}
			cancel()
			<-r.done
			_ = r.conn.Close()
		})
	}
}

// A device whose right is taken and given back many times while it compares, or before it answers
// anything, can still answer, in order.
func TestAccess_goesOnWhileARightChanges(t *testing.T) {
	warm(t)
	for _, few := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory(1, 1)
			for i := range compareMin + 50 {
				m.addLog(9, i, 1)
			}
			ctx, cancel := context.WithCancel(t.Context())
			r := newReader(t, ctx, m)
			r.write(frameToken, (&reach{few: few}).append(nil))
			synctest.Wait()
			for range 2 * pagesMax {
				m.permit(r.attacker.m.Key(), false)
				synctest.Wait()
				if !few {
					r.write(frameOpen, (&open{how: openAll}).append(nil))
					few = true // once
				}
				m.permit(r.attacker.m.Key(), true)
				synctest.Wait()
			}
			for answered := 0; answered < len(r.heads); answered++ {
				r.want(r.heads[answered])
				synctest.Wait()
			}
			if len(r.runs) < compareMin+50 {
				t.Errorf("it gives runs of %d logs, after %d pages", len(r.runs), len(r.heads))
			}
			cancel()
			<-r.done
			_ = r.conn.Close()
		})
	}
}
