package studio

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
)

// onDisk returns a database in a new folder that the test's end closes.
func onDisk(t testing.TB) (db *stoat.DB, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db, dir
}

// allocated returns how many bytes fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestValue_ofAHundredMegabytesIsNeverInMemoryWhole(t *testing.T) {
	const size = 100 << 20
	value := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value)
	db, _ := onDisk(t)
	ok(t, db.Put([]byte("large"), value))
	ok(t, db.Flush())
	b := browse(t, New(db, nil))
	check := func(what string, fn func()) {
		t.Helper()
		if n := allocated(fn); n > 4<<20 {
			t.Errorf("%s allocates %d bytes", what, n)
		}
	}
	check("a list", func() {
		e := get[keysAnswer](b, "keys").Entries[0]
		if e.Value.Size != size || len(e.Value.Base64) != 0 || !e.Value.Cut {
			t.Errorf("%+v", e)
		}
	})
	for _, offset := range []int{0, 12_345_678, size - 10, size} {
		check("a part", func() {
			v := get[valueAnswer](b, "value", "key", id("large"), "offset", fmt.Sprint(offset))
			want := value[offset:min(size, offset+valueShown)]
			if !bytes.Equal(v.Value.Base64, want) || v.Value.Size != size ||
				v.Value.Cut != (offset < size-10) {
				t.Errorf("at %d: %d bytes of %d, cut %v", offset, len(v.Value.Base64), v.Value.Size,
					v.Value.Cut)
			}
		})
	}
	check("a download", func() {
		answer := b.send(http.MethodGet, "api/download?key="+id("large"), nil)
		compare := &comparing{want: value}
		_, err := io.Copy(compare, answer.Body)
		ok(t, err)
		ok(t, answer.Body.Close())
		if compare.differs || len(compare.want) != 0 || answer.ContentLength != size {
			t.Error("the download differs")
		}
	})
	status, text := b.ask("value", "key", id("large"), "offset", fmt.Sprint(size+1))
	refused(t, status, text, http.StatusBadRequest, fmt.Sprint(size))
}

// comparing compares what is written to it.
type comparing struct {
	want    []byte
	differs bool
}

func (c *comparing) Write(p []byte) (int, error) {
	n := min(len(p), len(c.want))
	c.differs = c.differs || n < len(p) || !bytes.Equal(p, c.want[:n])
	c.want = c.want[n:]
	return len(p), nil
}

func TestValue_isReadByPartsOfWholeCharacters(t *testing.T) {
	db := memory(t)
	text := "x" + string(bytes.Repeat([]byte("ö€🦦"), 20_000))
	ok(t, db.Put([]byte("text"), []byte(text)))
	ok(t, db.Compact(context.Background()))
	b := browse(t, New(db, nil))
	read, parts := "", 0
	for more := true; more; parts++ {
		v := get[valueAnswer](b, "value", "key", id("text"), "offset", fmt.Sprint(len(read)))
		if v.Value.Text == nil || *v.Value.Text != string(v.Value.Base64) || v.JSON {
			t.Fatalf("at %d: %.100v", len(read), v.Value)
		}
		read += *v.Value.Text
		more = v.Value.Cut
	}
	if read != text || parts != 3 {
		t.Errorf("%d parts of %d bytes, want %d", parts, len(read), len(text))
	}
}

func TestValue_saysWhetherItIsJSON(t *testing.T) {
	db := memory(t)
	b := browse(t, New(db, nil))
	for value, want := range map[string]bool{
		`{"a":[1,2.5e3,null]}`: true, "12": true, `"<script>"`: true, "": false, "{": false,
		"\xff": false, "{}x": false, "\"\xff\"": false,
	} {
		ok(t, db.Put([]byte("key"), []byte(value)))
		if v := get[valueAnswer](b, "value", "key", id("key")); v.JSON != want {
			t.Errorf("%q: %v", value, v.JSON)
		}
	}
}

func TestDownload_isAFileThatNoBrowserShows(t *testing.T) {
	db := memory(t)
	b := browse(t, New(db, nil))
	for key, want := range map[string]string{
		"photo.png": "photo.png", "../../etc/passwd": "etcpasswd", "\x00\"\r\nX: y": "Xy", "ö": "value",
		"..": "value", "a/b c": "abc", strings.Repeat("k", 100): strings.Repeat("k", 64),
	} {
		ok(t, db.Put([]byte(key), []byte("<script>alert(1)</script>")))
		answer := b.send(http.MethodGet, "api/download?key="+id(key), nil)
		status, text := b.read(answer)
		if status != http.StatusOK || text != "<script>alert(1)</script>" ||
			answer.Header.Get("Content-Type") != "application/octet-stream" ||
			answer.Header.Get("Content-Disposition") != "attachment; filename="+want {
			t.Errorf("%q: %d, %v", key, status, answer.Header)
		}
	}
}

// lateWriter takes some time for each write, and fails after its deadline.
type lateWriter struct {
	http.ResponseWriter
	takes time.Duration
	end   time.Time
}

func (w *lateWriter) SetWriteDeadline(end time.Time) error {
	w.end = end
	return nil
}

func (w *lateWriter) Write(p []byte) (int, error) {
	time.Sleep(min(w.takes, time.Until(w.end)))
	if !time.Now().Before(w.end) {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

func TestDownload_isNotForSlowReaders(t *testing.T) {
	const steps = 1000
	value := make([]byte, steps*downloadStep)
	for _, c := range []struct {
		takes, most time.Duration // a step, all
		sent        bool
	}{
		{time.Second, steps * time.Second, true},
		{stepTime / 2, steps*time.Second + downloadTime, false},
		{stepTime + 1, stepTime, false},
	} {
		synctest.Test(t, func(t *testing.T) { // in which time passes at once
			begun := time.Now()
			err := sendSlowly(&lateWriter{httptest.NewRecorder(), c.takes, time.Time{}}, value)
			if took := time.Since(begun); took > c.most || (err == nil) != c.sent {
				t.Errorf("%v a step: %v after %v", c.takes, err, took)
			}
		})
	}
}

func TestDownload_isRefusedIfThereAreTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory(t)
		ok(t, db.Put([]byte("key"), nil))
		h := New(db, &Options{Allow: func(*http.Request) bool { return true }})
		for range sendingMost {
			h.sending <- struct{}{}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/download?key="+id("key"), nil))
		refused(t, w.Code, w.Body.String(), http.StatusServiceUnavailable, "at once")
	})
}
