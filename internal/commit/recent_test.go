package commit

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// heldBytes returns the memory that the copies take.
func heldBytes(f *recent) (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, payload := range f.commits {
		n += int64(cap(payload)) + keptOverhead
	}
	return n
}

func TestRecent_keepsNothingForNobody(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "a")
	f, g := d.Follow(Log{}), d.Follow(Log{})
	if d.commit(t, "b"); heldBytes(&d.recent) == 0 {
		t.Error("nothing is kept for two followers")
	}
	if f.Close(); heldBytes(&d.recent) == 0 {
		t.Error("nothing is kept for one follower")
	}
	g.Close()
	if d.commit(t, "c"); heldBytes(&d.recent) > 0 {
		t.Error("commits are kept for nobody")
	}
}

func TestRecent_keepsNothingAfterTheLastHasLeft(t *testing.T) {
	f := &recent{limit: 1000}
	f.followers.Add(1)
	f.mu.Lock()
	var adding sync.WaitGroup
	adding.Go(func() { f.add(1, [][]byte{[]byte("a")}) })
	for range 100 {
		runtime.Gosched() // it waits for the mutex by now, or finds nobody
	}
	f.followers.Add(-1)
	f.mu.Unlock()
	adding.Wait()
	if heldBytes(f) > 0 {
		t.Error("a commit is kept for nobody")
	}
}

func TestRecent_costsNothingWithoutFollowers(t *testing.T) {
	f, payload := new(recent), [][]byte{[]byte("a")}
	if n := testing.AllocsPerRun(100, func() { f.add(1, payload); f.wake() }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func TestRecent_doesWithoutWhatIsTooLarge(t *testing.T) {
	f := &recent{limit: 1000}
	f.followers.Add(1)
	f.add(1, [][]byte{[]byte("ab"), []byte("c")})
	f.add(2, [][]byte{make([]byte, 2000)})
	f.add(3, [][]byte{[]byte("d")})
	f.add(4, nil)
	for commit, want := range []string{1: "", 2: "", 3: "d", 4: ""} {
		got, kept := f.get(uint64(commit))
		if string(got) != want || kept != (commit >= 3) {
			t.Errorf("of commit %d, %q is kept: %t; want %q", commit, got, kept, want)
		}
	}
	f.add(9, [][]byte{[]byte("e")})
	if _, kept := f.get(4); kept {
		t.Error("a commit is kept across a gap")
	}
}

func TestRecent_keepsASinglePayloadWithoutACopy(t *testing.T) {
	f := &recent{limit: 1000}
	f.followers.Add(1)
	payload := make([]byte, 3, 100)
	f.add(1, [][]byte{payload})
	got, _ := f.get(1)
	if &got[0] != &payload[0] || cap(got) != len(payload) {
		t.Errorf("kept are %p of %d bytes, want %p of %d", got, cap(got), payload, len(payload))
	}
}

// The memory of a memtable that is flushed after a commit or two is not kept for these.
func TestRecent_copiesWhatIsAloneInAMemtable(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	defer d.Follow(Log{}).Close()
	edit := d.edit("a")
	payload := edit.Pending()[0]
	d.Append(edit)
	if got, ok := d.recent.get(1); !ok || &got[0] == &payload[0] {
		t.Errorf("kept is %p, want a copy of %p", got, payload)
	}
	word := strings.Repeat("b", sharedBytes)
	edit = d.edit(word)
	payload = edit.Pending()[0]
	d.Append(edit)
	if got, ok := d.recent.get(2); !ok || &got[0] != &payload[0] {
		t.Errorf("kept is %p, want %p", got, payload)
	}
}
