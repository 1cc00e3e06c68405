package intake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func memory(t testing.TB) *stoat.DB {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func start(t testing.TB, db *stoat.DB, source Source, o Options) *Job {
	t.Helper()
	j, err := Start(db, source, o)
	ok(t, err)
	return j
}

// letters is a source of 26 records, the letters of the alphabet.
func letters() Source { return Source{Kind: "letters", Path: "/abc", Identity: "of 26 letters"} }

// errStop ends an import in the middle.
var errStop = errors.New("stop")

// run imports the letters, numbered, up to but without the letter stop.
func run(j *Job, stop byte) error {
	defer j.Rollback()
	for at := j.Position().Record; at < 26; at++ {
		letter := byte('a' + at)
		if letter == stop {
			return errStop
		}
		if err := j.Append([]byte{letter}); err != nil {
			return err
		}
		if err := j.Advance(Position{Record: at + 1}); err != nil {
			return err
		}
	}
	return j.Finish()
}

// content returns the values of a bucket, and its bookmarks' number.
func content(t testing.TB, db *stoat.DB, bucket string) (values string, bookmarks int) {
	t.Helper()
	ok(t, db.View(func(tx *stoat.Tx) error {
		if marks, err := tx.Bucket([]byte(Bookmarks)); err == nil {
			for range marks.Keys(stoat.Range{}) {
				bookmarks++
			}
			if bookmarks == 0 {
				t.Error("a bucket of bookmarks without one")
			}
		}
		b, err := tx.Bucket([]byte(bucket))
		if errors.Is(err, stoat.ErrBucketNotFound) {
			return nil
		}
		last := -1
		for key, value := range b.Scan(stoat.Range{}) {
			if n := int(binary.BigEndian.Uint64(key)); n <= last {
				t.Errorf("number %d after %d", n, last)
			}
			values += string(value)
		}
		return err
	}))
	return values, bookmarks
}

const alphabet = "abcdefghijklmnopqrstuvwxyz"

func TestJob_goesOnBehindTheLastCommit(t *testing.T) {
	o := Options{Bucket: []string{"to"}, RecordsMax: 4}
	for stop := byte('a'); stop <= 'z'; stop++ {
		db := memory(t)
		if err := run(start(t, db, letters(), o), stop); !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		committed := int(stop-'a') / 4 * 4
		if got, marks := content(t, db, "to"); got != alphabet[:committed] || marks != min(1, committed) {
			t.Errorf("stopped at %c, the bucket has %q and %d bookmarks", stop, got, marks)
		}
		j := start(t, db, letters(), o)
		if j.resumed != (committed > 0) || int(j.Position().Record) != committed {
			t.Errorf("stopped at %c, it goes on at %+v", stop, j.Position())
		}
		ok(t, run(j, 0))
		if got, marks := content(t, db, "to"); got != alphabet || marks != 0 {
			t.Errorf("stopped at %c, the bucket has %q at the end, and %d bookmarks", stop, got, marks)
		}
		if r := j.Report("db", nil); r.Entries != 26 || r.Bytes != 26 ||
			r.run.Entries != int64(26-committed) {
			t.Errorf("stopped at %c, it reports %+v", stop, r)
		}
	}
}

func TestJob_pausesAnywhere(t *testing.T) {
	db := memory(t)
	o := Options{Bucket: []string{"to"}}
	for at := range int64(26) {
		j := start(t, db, letters(), o)
		if j.Position().Record != at {
			t.Fatalf("run %d starts at %+v", at, j.Position())
		}
		ok(t, j.Append([]byte{byte('a' + at)}))
		ok(t, j.Advance(Position{Record: at + 1}))
		ok(t, j.Pause())
		j.Rollback()
	}
	j := start(t, db, letters(), o)
	ok(t, j.Pause()) // nothing is there to be stored
	ok(t, run(j, 0))
	if got, marks := content(t, db, "to"); got != alphabet || marks != 0 {
		t.Errorf("the bucket has %q, and %d bookmarks", got, marks)
	}
}

func TestStart_refusesAnotherSourceOrOtherSettings(t *testing.T) {
	db := memory(t)
	o := Options{Bucket: []string{"to"}, RecordsMax: 4, Settings: "without keys"}
	if err := run(start(t, db, letters(), o), 'n'); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	changed := letters()
	changed.Identity = "of 27 letters"
	other := o
	other.Settings = "by the key x"
	for _, c := range []struct {
		source Source
		o      Options
		want   string
	}{
		{changed, o, "/abc has changed"},
		{letters(), other, "imported without keys and not by the key x"},
	} {
		_, err := Start(db, c.source, c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "-restart") {
			t.Errorf("it returns %v, want %q", err, c.want)
		}
	}
	elsewhere := o
	elsewhere.Bucket = []string{"elsewhere"}
	if j := start(t, db, changed, elsewhere); j.Resumed() {
		t.Error("the bookmark of another bucket counts")
	}
}

func TestStart_fromTheStartTakesNumberedEntriesBack(t *testing.T) {
	db := memory(t)
	o := Options{Bucket: []string{"to"}, RecordsMax: 4}
	others := func() { // another program appends
		ok(t, db.Update(func(tx *stoat.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("to"))
			ok(t, err)
			_, err = appendEntry(b, []byte("!"), false)
			return err
		}))
	}
	others()
	for _, stop := range []byte("fnu") {
		if err := run(start(t, db, letters(), o), stop); !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		others()
	}
	if got, _ := content(t, db, "to"); got != "!abcd!efghijkl!mnopqrst!" {
		t.Fatalf("the bucket has %q", got)
	}
	o.Restart = true
	for range 2 { // an attempt that commits nothing leaves all as it is
		j := start(t, db, letters(), o)
		if err := run(j, 'c'); !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		if text := j.Stopped(errStop).Error(); text != "stop; this run has imported nothing" {
			t.Errorf("it says %q", text)
		}
	}
	ok(t, run(start(t, db, letters(), o), 0))
	if got, marks := content(t, db, "to"); got != "!!!!"+alphabet || marks != 0 {
		t.Errorf("the bucket has %q at the end, and %d bookmarks", got, marks)
	}
}

func TestStart_fromTheStartGivesTheSameNumbersAgain(t *testing.T) {
	db := memory(t)
	o := Options{Bucket: []string{"to"}, RecordsMax: 4}
	if err := run(start(t, db, letters(), o), 'z'); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	o.Restart = true
	ok(t, run(start(t, db, letters(), o), 0))
	ok(t, db.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("to"))
		ok(t, err)
		value, err := b.Get(binary.BigEndian.AppendUint64(nil, 25))
		if string(value) != "z" {
			t.Errorf("number 25 is %q", value)
		}
		return err
	}))
}

func TestJob_passesNumbersOfRedactedEntriesOver(t *testing.T) {
	db := memory(t)
	j := start(t, db, letters(), Options{})
	ok(t, j.Append([]byte("a")))
	ok(t, j.Redacted())
	ok(t, j.Append([]byte("c")))
	j.Skipped()
	ok(t, j.Finish())
	ok(t, db.View(func(tx *stoat.Tx) error {
		var got []string
		for key, value := range tx.Scan(stoat.Range{}) {
			got = append(got, fmt.Sprint(binary.BigEndian.Uint64(key), string(value)))
		}
		if text := strings.Join(got, ","); text != "0a,2c" {
			t.Errorf("the entries are %q", text)
		}
		return nil
	}))
	text := j.Report("db", []string{"a finding"}).text(time.Second)
	want := "2 entries, 2 B in 1.00 s: 2 B/s\n" +
		"redacted in the source, and numbers without an entry here: 1\n" +
		"left out because they make no sense: 1 record\na finding\n"
	if text != want {
		t.Errorf("it reports\n%s", text)
	}
}

func TestJob_commitsWhenThereAreManyBytes(t *testing.T) {
	db := memory(t)
	j := start(t, db, letters(), Options{})
	defer j.Rollback()
	for range 3 {
		ok(t, j.Put([]byte("k"), make([]byte, bytesMax/2)))
		ok(t, j.Advance(Position{}))
	}
	if j.commits != 1 || j.stored.Entries != 2 {
		t.Errorf("%d commits, of %d entries", j.commits, j.stored.Entries)
	}
}

func TestJob_writesWithinBucketsAcrossCommits(t *testing.T) {
	db := memory(t)
	j := start(t, db, letters(), Options{Bucket: []string{"to"}, RecordsMax: 2})
	path := [][]byte{[]byte("a"), []byte("b")}
	for i := range 9 {
		path[1][0] = "bbbccbcbc"[i] // the caller may reuse what it passed
		in, err := j.Within(path[:1+i%2])
		ok(t, err)
		ok(t, in.Put([]byte{byte('0' + i)}, nil))
		j.Wrote(1)
		ok(t, j.Advance(Position{Path: path, Key: []byte{byte(i)}}))
	}
	ok(t, j.Pause())
	again := start(t, db, letters(), Options{Bucket: []string{"to"}})
	if at := again.Position(); string(at.Key) != "\x08" || len(at.Path) != 2 ||
		string(at.Path[1]) != "c" || again.Counts().Entries != 9 {
		t.Errorf("it goes on at %q with %+v", at, again.Counts())
	}
	ok(t, again.Finish())
	ok(t, db.View(func(tx *stoat.Tx) error {
		to, err := tx.Bucket([]byte("to"))
		ok(t, err)
		a, err := to.Bucket([]byte("a"))
		ok(t, err)
		text := ""
		for key := range a.Keys(stoat.Range{}) {
			text += string(key)
		}
		for name := range a.Buckets() {
			b, err := a.Bucket(name)
			ok(t, err)
			text += " " + string(name)
			for key := range b.Keys(stoat.Range{}) {
				text += string(key)
			}
		}
		if text != "02468 b157 c3" {
			t.Errorf("the buckets hold %q", text)
		}
		return nil
	}))
}

func TestJob_endsAtACommitThatFails(t *testing.T) {
	db := memory(t)
	j := start(t, db, letters(), Options{Bucket: []string{"b"}})
	ok(t, j.Append([]byte("a")))
	ok(t, j.Advance(Position{Record: 1}))
	errHook := errors.New("hook")
	ok(t, j.tx.BeforeCommit(func() error { return errHook }))
	for name, step := range map[string]func() error{"pause": j.Pause, "finish": j.Finish} {
		if err := step(); !errors.Is(err, errHook) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"append":   j.Append([]byte("b")),
		"redacted": j.Redacted(),
		"put":      j.Put([]byte("k"), nil),
		"advance":  j.Advance(Position{Record: 2}),
	} {
		if !errors.Is(err, errHook) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	j.Rollback()
	if values, marks := content(t, db, "b"); values != "" || marks != 0 {
		t.Errorf("%q is stored, with %d bookmarks", values, marks)
	}
	ok(t, run(start(t, db, letters(), Options{Bucket: []string{"b"}}), 0))
	if values, _ := content(t, db, "b"); values != alphabet {
		t.Errorf("%q is stored", values)
	}
}

func TestJob_endsAtATransactionThatIsHalfBegun(t *testing.T) {
	j := start(t, memory(t), letters(), Options{Bucket: []string{"to", ""}})
	defer j.Rollback()
	for range 2 {
		if err := j.Append([]byte("a")); !errors.Is(err, stoat.ErrInvalidKey) {
			t.Errorf("error %v", err)
		}
	}
}
