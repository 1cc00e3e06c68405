package history

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newLog returns an empty log. Its ids count.
func newLog(t testing.TB) *Log {
	t.Helper()
	codec, err := object.NewCodec()
	check(t, err)
	ids := byte(0)
	return &Log{
		Store: memstore.New(), Codec: codec, Database: [16]byte{1},
		NewID: func() object.ID {
			ids++
			return object.ID{ids}
		},
		Now:   func() uint64 { return 1 },
		Pause: func(ctx context.Context, _ int) error { return ctx.Err() },
	}
}

// commit is an object with the first commit.
func commit() []object.Part {
	return []object.Part{{Commits: &object.Commits{First: 1, Batches: [][]byte{[]byte("batch")}}}}
}

func claim() object.Claim { return object.Claim{Writer: "w", Branch: 1} }

// An edit of a database with very many files is larger than what commits may be.
func TestWriter_storesALargeEdit(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	rng, e := rand.NewChaCha8([32]byte{1}), &manifest.Edit{LastCommit: 1, NextNumber: 9}
	for i := range byte(5) {
		key := make([]byte, object.LogBytesMax/4)
		_, _ = rng.Read(key)
		key[0], key[1] = 0x10, i
		e.AddBottom = append(e.AddBottom, &manifest.Table{
			Number: 1 + uint64(i), Size: 300, Entries: 1, RawBytes: 2, Smallest: key, Largest: key,
		})
	}
	if err := w.Append(t.Context(), []object.Part{commit()[0], {Edit: e}}); !errors.Is(
		err, object.ErrTooLarge) {
		t.Errorf("with a commit, which waits for all of it: %v", err)
	}
	check(t, w.Append(t.Context(), commit()))
	check(t, w.Append(t.Context(), []object.Part{{Edit: e}}))
	f, end, err := l.Open(t.Context())
	check(t, err)
	for f.State().Number < end {
		_, _, err = f.Next(t.Context())
		check(t, err)
	}
	if n := len(f.State().Version.Bottom.Tables); n != len(e.AddBottom) {
		t.Errorf("there are %d tables", n)
	}
}

// What readers refuse must not take a number: the log would end there.
func TestWriter_storesNothingThatReadersRefuse(t *testing.T) {
	l := newLog(t)
	for _, c := range []object.Claim{
		{Branch: 0}, {Branch: 1, Writer: strings.Repeat("w", object.WriterBytesMax+1)},
	} {
		if _, err := l.Claim(t.Context(), c); err == nil {
			t.Errorf("the claim %+v is stored", c)
		}
	}
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	empty := []object.Part{{Commits: &object.Commits{First: 1, Batches: [][]byte{nil}}}}
	for _, parts := range [][]object.Part{nil, {{}}, empty} {
		if err := w.Append(t.Context(), parts); err == nil {
			t.Errorf("the parts %+v are stored", parts)
		}
	}
	check(t, w.Append(t.Context(), commit()))
	next, err := l.Claim(t.Context(), claim())
	check(t, err)
	if next.State().Number != 3 || next.State().Commit != 1 {
		t.Errorf("the second claim is at %d, after commit %d", next.State().Number, next.State().Commit)
	}
}

// putStranger stores a log object that follows another object than the last one.
func putStranger(t testing.TB, l *Log, n uint64) {
	t.Helper()
	p, err := l.Codec.EncodeLog(&object.Log{
		Header: object.Header{
			Database: l.Database, Number: n, Epoch: 1, ID: object.ID{99}, Previous: object.ID{98}, Time: 1,
		},
		Parts: commit(),
	})
	check(t, err)
	check(t, l.Store.Create(t.Context(), logName(n), p))
}

// A log that breaks off, and no newer state that goes on, is damage. It ends all tries.
func TestLog_reportsABreakThatNoStateExplains(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	_, err = l.Save(t.Context(), w.State())
	check(t, err)
	f, err := l.Follow(t.Context())
	check(t, err)
	putStranger(t, l, 2)
	if _, err := l.Claim(t.Context(), claim()); !errors.Is(err, corrupt.Err) {
		t.Errorf("a claim: %v", err)
	}
	if _, moved, err := f.Next(t.Context()); moved || !errors.Is(err, corrupt.Err) {
		t.Errorf("a follower: %t, %v", moved, err)
	}
	if err := w.Append(t.Context(), commit()); !errors.Is(err, ErrFenced) {
		t.Errorf("the writer: %v", err)
	}
}

// A copy of a process may draw the same random bits. Its object is not the other one's.
func TestWriter_isNotTakenForItsCopy(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	twin := copied(w, l)
	_, err = w.Prepare(commit())
	check(t, err)
	other := commit()
	other[0].Commits.Batches[0] = []byte("other")
	_, err = twin.Prepare(other)
	check(t, err)
	twin.sent[0].object.ID = w.sent[0].object.ID
	twin.sent[0].bytes, err = l.Codec.EncodeLog(twin.sent[0].object)
	check(t, err)
	check(t, w.Finish(t.Context()))
	if err := twin.Finish(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("the copy: %v", err)
	}
}

// Of two copies that have two requests in flight, each may be the first with one of them. Neither
// goes on, nobody is told anything wrong, and the next writer does.
func TestWriter_andItsCopyLeaveALogThatGoesOn(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), object.Claim{Writer: "w", Branch: 1, Window: 2})
	check(t, err)
	same := []object.Part{{Edit: &manifest.Edit{NextNumber: 1}}}
	check(t, w.Append(t.Context(), same)) // past the numbers that void objects may have
	twin := copied(w, l)
	for i, writer := range []*Writer{w, twin} {
		for range 2 {
			_, err := writer.Prepare([]object.Part{{Commits: &object.Commits{
				First: writer.Head().Commit + 1, Batches: [][]byte{fmt.Append(nil, "of ", i)},
			}}})
			check(t, err)
		}
	}
	check(t, w.sent[0].Send(t.Context()))
	check(t, twin.sent[1].Send(t.Context()))
	if err := twin.Proof().Confirm(t.Context()); !errors.Is(err, ErrFenced) {
		t.Errorf("the copy is confirmed: %v", err)
	}
	for _, writer := range []*Writer{w, twin} {
		if err := writer.Finish(t.Context()); !errors.Is(err, ErrFenced) {
			t.Errorf("it goes on: %v", err)
		}
	}
	if w.State().Commit != 1 || twin.State().Commit != 0 {
		t.Errorf("acknowledged up to %d and %d", w.State().Commit, twin.State().Commit)
	}
	next, err := l.Claim(t.Context(), claim())
	check(t, err)
	end, err := l.End(t.Context())
	check(t, err)
	present, err := l.Present(t.Context())
	check(t, err)
	walked, err := l.Walk(t.Context(), Start(l.Database), func(*object.State) error { return nil })
	check(t, err)
	for _, s := range []*object.State{next.State(), end, present, walked} {
		if s.Commit != 1 || len(s.Void) != 1 || s.Epoch != 2 {
			t.Errorf("at %d in epoch %d: %d commits, %d void", s.Number, s.Epoch, s.Commit, len(s.Void))
		}
	}
	wantWalked(t, l, end)
}

// wantWalked wants whoever walks the log to skip what strays from it as long as the newest state
// does.
func wantWalked(t testing.TB, l *Log, end *object.State) {
	t.Helper()
	walk := func() error {
		_, err := l.Walk(t.Context(), Start(l.Database), func(*object.State) error { return nil })
		return err
	}
	save := func(s *object.State) {
		t.Helper()
		saved, err := l.Save(t.Context(), s)
		if check(t, err); !saved {
			t.Fatal("no state is stored")
		}
	}
	save(end)
	check(t, walk())
	check(t, l.Store.Delete(t.Context(), []string{stateName(end.Number)}))
	other := *end
	other.Void = nil
	save(&other)
	if err := walk(); !errors.Is(err, errStray) {
		t.Errorf("what the newest state has is skipped: %v", err)
	}
}

func TestWriter_givesUpOnADamagedObject(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	check(t, l.Store.Create(t.Context(), logName(2), []byte("damaged")))
	if err := w.Append(t.Context(), commit()); !errors.Is(err, corrupt.ErrFormat) {
		t.Errorf("the writer: %v", err)
	}
}

// A newer program has taken over, and says so in a way that this one does not understand.
func TestWriter_endsWhereANewerProgramHasWritten(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	newer, err := l.request(w.State(), commit())
	check(t, err)
	p := bytes.Clone(newer.bytes)
	const versionAt, sumAt = 8, object.HeaderBytes - checksum.Size
	binary.LittleEndian.PutUint32(p[versionAt:], 1000)
	binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
	check(t, l.Store.Create(t.Context(), logName(2), p))
	for _, err := range []error{w.Proof().Confirm(t.Context()), w.Append(t.Context(), commit())} {
		if !errors.Is(err, ErrFenced) || !errors.Is(err, objstore.ErrUnknown) ||
			!errors.Is(err, corrupt.ErrFormat) {
			t.Errorf("the writer goes on, or knows what becomes of its commit: %v", err)
		}
	}
	_, err = l.Claim(t.Context(), claim())
	if !errors.Is(err, corrupt.ErrFormat) || !strings.Contains(err.Error(), "newer version") {
		t.Errorf("another writer: %v", err)
	}
}

func TestClaim_asksAgainForWhatItReads(t *testing.T) {
	log, failures := newLog(t), 0
	log.Pause = func(context.Context, int) error { return nil }
	for range 5 {
		_, err := log.Claim(t.Context(), object.Claim{Branch: 7})
		check(t, err)
	}
	log.Store = faultstore.NewServer(log.Store).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op == faultstore.Get && r.Index%2 == 1 {
			failures++
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	w, err := log.Claim(t.Context(), object.Claim{Branch: 7})
	check(t, err)
	if w.State().Number != 6 || failures == 0 {
		t.Errorf("the claim is log object %d, after %d failures", w.State().Number, failures)
	}
}

func TestPast_beginsAtTheBound(t *testing.T) {
	log := newLog(t)
	s, end := Start(log.Database), Start(log.Database)
	s.Number, end.Number, end.Bound = 4, 9, 5
	if err := log.isPast(t.Context(), s, end); !errors.Is(err, ErrNotKept) {
		t.Errorf("before the unlink bound: %v", err)
	}
	s.Number = 5
	check(t, log.isPast(t.Context(), s, end))
}

// The answer to a request may be under way while another writer goes on after it.
func TestConfirm_leavesTheOutcomeOfWhatWasSentUnknown(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	r, err := w.Prepare(commit())
	check(t, err)
	check(t, l.Store.Create(t.Context(), logName(2), r.bytes)) // and no answer arrives
	next, err := l.Claim(t.Context(), claim())
	check(t, err)
	if err := w.Proof().Confirm(t.Context()); !errors.Is(err, ErrFenced) ||
		!errors.Is(err, objstore.ErrUnknown) {
		t.Errorf("the writer is told that its commit does not count: %v", err)
	}
	if next.State().Commit != 1 {
		t.Error("its commit does not count")
	}
	check(t, w.Finish(t.Context()))
	if err := w.Proof().Confirm(t.Context()); !errors.Is(err, ErrFenced) ||
		errors.Is(err, objstore.ErrUnknown) {
		t.Errorf("the writer that has sent nothing does not know that it is fenced: %v", err)
	}
}
