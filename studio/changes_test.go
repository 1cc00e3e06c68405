package studio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stoatdb/stoat"
)

// listen asks for the changes of a bucket, and returns the events after the first.
func (b *browser) listen(parameters string) (lines *bufio.Scanner, stop func()) {
	b.t.Helper()
	answer := b.send(http.MethodGet, "api/changes?"+parameters, nil)
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		b.t.Fatalf("status %d, type %s", answer.StatusCode, kind)
	}
	lines = bufio.NewScanner(answer.Body)
	name, _ := next(b.t, lines)
	equal(b.t, name, "state")
	return lines, func() { ok(b.t, answer.Body.Close()) }
}

// nextChange returns the next event, which must be a change.
func nextChange(t testing.TB, lines *bufio.Scanner) (e changeEvent) {
	t.Helper()
	name, data := next(t, lines)
	equal(t, name, "change")
	ok(t, json.Unmarshal([]byte(data), &e))
	return e
}

func TestChanges_areThoseOfTheBucket(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("b"))
		return err
	})
	b := browse(t, New(db, nil))
	lines, stop := b.listen("path=" + path("b"))
	defer stop()
	long := make([]byte, 300)
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, tx.Put([]byte("k of the root"), nil))
		in, err := tx.Bucket([]byte("b"))
		ok(t, err)
		for _, key := range hostile {
			ok(t, in.Put([]byte("k"+key[:min(len(key), 65_534)]), long))
		}
		ok(t, in.Delete([]byte("key")))
		return in.DeleteRange(stoat.Prefix([]byte("ke")))
	})
	for _, key := range hostile {
		e := nextChange(t, lines)
		want := "k" + key[:min(len(key), 65_534)]
		if e.Kind != "put" || e.Key.Size != len(want) || e.Value.Size != 300 || !e.Value.Cut ||
			len(e.Value.Base64) != previewShown || e.Commit != uint64(db.Position()) ||
			string(e.Key.Base64) != want[:len(e.Key.Base64)] {
			t.Errorf("%q: %.300v", want, e)
		}
	}
	if e := nextChange(t, lines); e.Kind != "delete" || *e.Key.Text != "key" || e.Value != nil {
		t.Errorf("%+v", e)
	}
	if e := nextChange(t, lines); e.Kind != "deleteRange" || *e.Key.Text != "ke" ||
		*e.End.Text != "kf" {
		t.Errorf("%+v", e)
	}
	update(t, db, func(tx *stoat.Tx) error { return tx.DeleteBucket([]byte("b")) })
	if e := nextChange(t, lines); e.Kind != "deleteRange" {
		t.Errorf("%+v", e)
	}
	name, data := next(t, lines)
	if name != "end" || data == "" {
		t.Errorf("%s: %s", name, data)
	}
}

// untilLast puts the key z, and reads the changes, whose keys ascend, until that of z. It puts it
// again after each gap, which may have it. It returns how many it was told, and the gaps.
func untilLast(t testing.TB, db *stoat.DB, lines *bufio.Scanner) (told, gaps int) {
	t.Helper()
	ok(t, db.Put([]byte("z"), nil))
	for last := ""; last != "z"; {
		name, data := next(t, lines)
		switch name {
		case "change":
			var e changeEvent
			ok(t, json.Unmarshal([]byte(data), &e))
			if *e.Key.Text <= last {
				t.Fatalf("change %s after %s", *e.Key.Text, last)
			}
			last = *e.Key.Text
			told++
		case "gap":
			gaps++
			ok(t, db.Put([]byte("z"), nil))
		default:
			t.Fatalf("%s: %s", name, data)
		}
	}
	return told, gaps
}

// A page that does not read costs no more than what waits for it, and delays no commit.
func TestChanges_ofASlowReaderAreBounded(t *testing.T) {
	const commits = 5_000
	db := memory(t)
	b := browse(t, New(db, nil))
	lines, stop := b.listen("")
	defer stop()
	for i := range commits { // nobody reads meanwhile
		ok(t, db.Put(fmt.Appendf(nil, "%0*d", keyShown, i), make([]byte, previewShown)))
	}
	if told, gaps := untilLast(t, db, lines); gaps == 0 || told >= commits {
		t.Errorf("%d of %d changes are told, with %d gaps", told, commits, gaps)
	}
}

func TestQueue_countsWhatItHasNoRoomFor(t *testing.T) {
	q := newQueue()
	for i := range queueMost + 7 {
		q.offer(changeEvent{Commit: uint64(i)})
	}
	w := q.take()
	if len(w.events) != queueMost || w.missed != 7 || w.reason == "" || w.ended {
		t.Errorf("%d events, %d missed: %q", len(w.events), w.missed, w.reason)
	}
	q.gap("a large transaction")
	q.offer(changeEvent{}) // after the gap, so it cannot be told before it
	q.finish("over")
	if w = q.take(); len(w.events) != 0 || w.missed != 1 || w.reason != "a large transaction" ||
		w.end != "over" || !w.ended {
		t.Errorf("%+v", w)
	}
}

func TestChanges_endWithTheRequest(t *testing.T) {
	b := browse(t, New(memory(t), nil))
	var stops []func()
	for range watchingMost {
		_, stop := b.listen("")
		stops = append(stops, stop)
	}
	status, text := b.ask("changes")
	refused(t, status, text, http.StatusServiceUnavailable, "close some")
	for _, stop := range stops {
		stop()
	}
	for status != http.StatusOK { // until the server has noticed
		answer := b.send(http.MethodGet, "api/changes", nil)
		status = answer.StatusCode
		ok(t, answer.Body.Close())
	}
}

func TestChanges_endWithTheDatabase(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	b := browse(t, New(db, nil))
	lines, stop := b.listen("")
	defer stop()
	ok(t, db.Close())
	name, _ := next(t, lines)
	equal(t, name, "end")
}

func TestChanges_goOnAfterATransactionLargerThanMemory(t *testing.T) {
	db := memory(t)
	b := browse(t, New(db, nil))
	lines, stop := b.listen("")
	defer stop()
	ok(t, db.Load(context.Background(), func(yield func(key, value []byte) bool) {
		for i := range 1000 {
			if !yield(fmt.Appendf(nil, "%06d", i), nil) {
				return
			}
		}
	}))
	if told, gaps := untilLast(t, db, lines); told != 1 || gaps == 0 {
		t.Errorf("%d changes are told, with %d gaps", told, gaps)
	}
}
