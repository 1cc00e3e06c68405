package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// largeBytes is the size of a value that lies outside of tables.
const largeBytes = 5000

// largeValue returns a value that no compression makes smaller.
func largeValue() []byte {
	value := make([]byte, largeBytes)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value) // which always succeeds
	return value
}

func TestStats_countWhatFlushesAndMergesWrite(t *testing.T) {
	o := calm()
	o.ValueThreshold = 1000
	e := mustOpen(t, memfs.New(), o)
	mustCommit(t, e, "c", "a")
	ok(t, tryCommit(e, dataKey("b"), largeValue()))
	ok(t, e.Flush())
	s := e.Stats()
	if s.FlushedBytes != s.TableBytes || s.MergedBytes != 0 || s.PendingBytes == 0 {
		t.Errorf("after a flush that leaves values in the log: %+v", s)
	}
	if s.ValueFiles != 1 || s.ValueBytes != largeBytes || s.ValueFileBytes < s.ValueBytes {
		t.Errorf("the value lies in the log: %+v", s)
	}
	mustCommit(t, e, "c", "d")
	ok(t, e.Flush())
	before := e.Stats()
	if before.FlushedBytes != before.TableBytes || before.PendingBytes <= s.PendingBytes {
		t.Errorf("after two flushes: %+v", before)
	}
	ok(t, e.Compact(context.Background()))
	s = e.Stats()
	if s.FlushedBytes != before.FlushedBytes || s.MergedBytes < s.TableBytes+s.ValueFileBytes {
		t.Errorf("after a compaction: %+v", s)
	}
	if s.PendingBytes > 100 || s.LiveBytes != s.TableBytes+s.ValueBytes {
		t.Errorf("there is still something to do: %+v", s)
	}
}

func TestStats_countFramesAndWhatIsStored(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	mustCommit(t, e, "a")
	start := e.Stats()
	size := e.commits.LogSize()
	mustCommit(t, e, "hello", "world")
	s := e.Stats()
	if got, want := s.LogBytes-start.LogBytes, uint64(e.commits.LogSize()-size); got != want {
		t.Errorf("%d bytes of log, want %d", got, want)
	}
	want := uint64(2 * (len(dataKey("hello")) + len("hello")))
	if got := s.CommittedBytes - start.CommittedBytes; got != want {
		t.Errorf("%d bytes are stored, want %d", got, want)
	}
	w, err := e.Begin()
	ok(t, err)
	ok(t, w.Put(dataKey("gone"), nil, 0))
	w.Rollback()
	again := e.Stats()
	if again.CommittedBytes != s.CommittedBytes || again.LogBytes != s.LogBytes {
		t.Errorf("a small transaction that was rolled back counts: %+v", again)
	}
}

func TestStats_countTheLogOfAStreamedTransaction(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	w, err := e.Begin()
	ok(t, err)
	const words = 300
	for i := range words {
		ok(t, w.Put(dataKey("%d", i), largeValue(), 0))
	}
	ok(t, w.Commit())
	s := e.Stats()
	if s.CommittedBytes < words*largeBytes || s.LogBytes < s.CommittedBytes {
		t.Errorf("%d bytes are stored and %d in the log", s.CommittedBytes, s.LogBytes)
	}
}

func TestStats_countWhatGoesPastTheLog(t *testing.T) {
	o := calm()
	o.Tuning.SpillBytes = 20_000
	e := mustOpen(t, memfs.New(), o)
	const words = 3000
	stored := uint64(0)
	w, err := e.Begin()
	ok(t, err)
	for i := range words {
		ok(t, w.Put(dataKey("a %d", i), []byte("spilled"), 0))
		stored += uint64(len(dataKey("a %d", i)) + len("spilled"))
	}
	ok(t, w.Commit())
	s := e.Stats()
	if s.CommittedBytes != stored || s.FlushedBytes != s.TableBytes || s.LogBytes > stored/2 {
		t.Errorf("after a transaction of %d bytes: %+v", stored, s)
	}
	l, err := e.BeginLoad(t.Context())
	ok(t, err)
	for i := range words {
		n := i
		if i == words-1 {
			n = 0 // no key above the others
		}
		ok(t, l.Put(dataKey("b %06d", n), []byte("loaded")))
		stored += uint64(len(dataKey("b 000000")) + len("loaded"))
	}
	ok(t, l.Commit())
	s = e.Stats()
	if s.CommittedBytes != stored || s.FlushedBytes != s.TableBytes || s.MergedBytes != 0 {
		t.Errorf("after a load, %d bytes are stored: %+v", stored, s)
	}
}

func TestStats_countWhatWasWrittenInVain(t *testing.T) {
	files, broken := failing(memfs.New(), errBroken, is(faultfs.Sync, tableSuffix))
	e := mustOpen(t, files, calm())
	mustCommit(t, e, "a")
	broken.Store(true)
	if err := e.Flush(); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	broken.Store(false)
	waitFor(e, func() bool { return len(e.mu.sealed) == 0 })
	if s := e.Stats(); s.FlushedBytes <= s.TableBytes {
		t.Errorf("%d bytes are written, %d were of use", s.FlushedBytes, s.TableBytes)
	}
}

func TestStats_addUpHowLongCommitsAreHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := mustOpen(t, memfs.New(), calm())
		mustCommit(t, e, "a")
		if d := e.Stats().Delay; d != 0 {
			t.Errorf("held back for %v without a reason", d)
		}
		e.pace.perByte.Store(int64(time.Second))
		mustCommit(t, e, "b", "c")
		e.pace.perByte.Store(0)
		if d := e.Stats().Delay; d != 2*maxPause {
			t.Errorf("held back for %v, want %v", d, 2*maxPause)
		}
		ok(t, e.Close())
	})
}

func TestStats_takeTheLargestRunForLive(t *testing.T) {
	e := mustOpen(t, memfs.New(), calm())
	for i := range 300 {
		ok(t, tryCommit(e, dataKey("%03d", i), fmt.Appendf(nil, "value %d", i*i)))
	}
	ok(t, e.Flush())
	s := e.Stats()
	if s.LiveBytes != s.TableBytes {
		t.Errorf("of one run, %d bytes of %d are live", s.LiveBytes, s.TableBytes)
	}
	largest := s.LiveBytes
	mustCommit(t, e, "100", "200")
	ok(t, e.Flush())
	if s = e.Stats(); s.LiveBytes != largest || s.TableBytes <= largest {
		t.Errorf("%d bytes are live, want %d", s.LiveBytes, largest)
	}
}
