package session

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// heapMax is the most memory that a session may take, whatever the peer sends, where the limit of
// entries is 1 MiB.
const heapMax = 5 << 20

// blocked is a replica that stores nothing until it is let to.
type blocked struct {
	*beginner
	let chan struct{} // closed when it may
}

func (s *blocked) Apply(session uint64, runs []*Run) ([]Refusal, error) {
	<-s.let
	return nil, nil
}

func (s *blocked) Prove([]byte) error {
	<-s.let
	return nil
}

func (s *blocked) KeepSlices(slices [][]byte) error {
	<-s.let
	return s.beginner.KeepSlices(slices)
}

func (s *blocked) Stage(chunks []chunk.Packed) error {
	<-s.let
	return s.beginner.Stage(chunks)
}

// hog is an attacker that makes its victim hold as much as it can.
type hog struct {
	*attacker
	credit int
}

// whole sends a run or something like that, as long as the victim has given credit.
func (h *hog) whole(k kind, p []byte) bool {
	if h.credit <= 0 {
		return false
	}
	h.credit -= len(p) + wholeCost
	h.write(k, p)
	return true
}

// runs sends as many runs as there is credit for, with so many entries each.
func (h *hog) runs(entries int, marks bool) {
	r := &Run{Log: entry.Hash{1}}
	for range entries {
		r.Entries = append(r.Entries, []byte{1})
	}
	p := r.append(nil)
	for n := uint64(1); h.whole(frameRun, p); n++ {
		if marks {
			h.write(frameMark, (&mark{token: Token{Batch: n}}).append(nil))
		}
	}
}

// parts sends a run that is as large as one may be, and not its end.
func (h *hog) parts() {
	for n := 0; n+FrameMax <= 1<<20+runOverhead; n += FrameMax {
		h.write(framePart, make([]byte, FrameMax))
	}
}

// heads sends pages of logs that do not exist, and waits for what the victim wants of them.
func (h *hog) heads(pages int, answered bool) {
	number := uint64(0)
	for range pages {
		page := headsPage{}
		for range headsMax {
			number++
			head := Head{Next: 1 << 40}
			binary.BigEndian.PutUint64(head.Log[:], number<<20)
			page.heads = append(page.heads, head)
		}
		h.write(frameHeads, page.append(nil))
		for k := kind(0); answered && k != frameWant && k != framePacked; {
			var err error
			if k, _, err = readFrame(h.in, func() {}); err != nil {
				h.t.Error(err)
				return
			}
		}
	}
}

// wants asks for a log of the victim again and again.
func (h *hog) wants(victim *memory) {
	w := wants{}
	for range wantsMax {
		w.wants = append(w.wants, want{log: [prefixSize]byte(victim.logs[0].id[:]), to: 1})
	}
	for range cursorsMax / wantsMax {
		h.write(frameWant, w.append(nil))
	}
}

// ranges sends as many ranges as may wait.
func (h *hog) ranges() {
	for n := range framesMax - 1 {
		sent := spans{}
		for i := range rangesMax {
			at := bound{uint64(n*rangesMax+i+1) << 40, "123456789012"}
			sent.all = append(sent.all, span{at, 1 << 32, fingerprint{1}})
		}
		h.write(frameRanges, sent.append(nil))
	}
}

// holds says that it holds very many collections.
func (h *hog) holds() {
	var names []string
	for n := range 3000 {
		names = append(names, fmt.Sprintf("collection %d", 10_000+n))
	}
	h.write(frameHolds, appendHolds(nil, names))
}

// heapInUse returns the bytes on the heap that are in use.
func heapInUse() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// settled returns the bytes that are in use when what was sent has been looked at.
func settled() int {
	before := 0
	for now := heapInUse(); ; now = heapInUse() {
		if now-before < 16<<10 && before-now < 16<<10 {
			return now
		}
		before = now
		time.Sleep(10 * time.Millisecond)
	}
}

// A session takes little memory, whatever the peer sends, and however slow the replica is.
func TestAttack15_memoryOfASession(t *testing.T) {
	warm(t)
	for name, send := range map[string]func(h *hog, victim *memory){
		"runs of small entries": func(h *hog, _ *memory) { h.runs(RunEntries, false) },
		"small runs":            func(h *hog, _ *memory) { h.runs(1, true) },
		"a large run":           func(h *hog, _ *memory) { h.runs(100, false) },
		"parts of a run":        func(h *hog, _ *memory) { h.parts() },
		"fork proofs": func(h *hog, _ *memory) {
			for h.whole(frameProof, make([]byte, FrameMax)) {
			}
		},
		"heads": func(h *hog, _ *memory) { h.heads(2*cursorsMax/headsMax, true) },
		"an offer": func(h *hog, _ *memory) {
			o := offerOf(7, 100_000)
			offered := Cut(o.Checkpoint, o.Append(nil))
			h.whole(frameCheckpoint, offered.append(nil))
			for _, id := range h.wanted() {
				g := piece{id, 0, true, offered.slice(id.N)}
				if !h.whole(frameChunk, g.append(nil)) {
					break
				}
			}
		},
		"everything": func(h *hog, victim *memory) {
			h.holds()
			h.write(frameToken, (&reach{few: true}).append(nil))
			h.heads(2*cursorsMax/headsMax, true)
			h.credit -= FrameMax
			h.runs(1, true) // so that what follows waits
			h.heads(pagesMax, false)
			h.ranges()
			h.wants(victim)
			h.parts()
		},
	} {
		t.Run(name, func(t *testing.T) {
			victim := &blocked{newBeginner(), make(chan struct{})}
			if err := victim.Seal(); err != nil {
				t.Fatal(err)
			}
			c := victim.config()
			c.Spaces = []Space{victim}
			before := heapInUse()
			_ = attack(t, c, func(a *attacker) {
				a.greet()
				send(&hog{a, window}, victim.memory)
				taken := settled() - before
				if taken > heapMax {
					t.Errorf("the session takes %d KiB", taken>>10)
				} else {
					t.Logf("the session takes %d KiB", taken>>10)
				}
				_ = a.conn.Close()
				close(victim.let)
			})
		})
	}
}
