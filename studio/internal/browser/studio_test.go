package browser

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/studio"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serving is a studio that a browser can reach. It remembers how requests were answered.
type serving struct {
	studio *studio.Handler
	server *httptest.Server

	mu       sync.Mutex
	statuses map[string][]int // by method and path
}

// serve serves a studio until the test ends.
func serve(t *testing.T, h *studio.Handler) *serving {
	t.Helper()
	s := &serving{studio: h, statuses: map[string][]int{}}
	s.server = httptest.NewServer(http.StripPrefix("/studio", s))
	t.Cleanup(func() {
		s.server.CloseClientConnections() // of streams
		s.server.Close()
	})
	return s
}

// address returns the address of the studio.
func (s *serving) address() string { return s.server.URL + "/studio/" }

// invitation returns the address with a new token.
func (s *serving) invitation() string { return s.address() + "#token=" + s.studio.NewToken() }

func (s *serving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	noted := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	s.studio.ServeHTTP(noted, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	name := r.Method + " " + r.URL.Path
	s.statuses[name] = append(s.statuses[name], noted.status)
}

// answers returns the statuses of the answers to requests so far.
func (s *serving) answers(name string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]int(nil), s.statuses[name]...)
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// visit opens a studio in a new browser, with a session.
func visit(t *testing.T, s *serving) *window {
	t.Helper()
	w := openWindow(t)
	w.run(chromedp.Navigate(s.invitation()))
	w.until(`document.querySelector('#health.good')`)
	return w
}

// memory returns an empty database that the test's end closes.
func memory(t *testing.T) *stoat.DB {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// put puts a key into a bucket of the root, which it creates if it is missing.
func put(t testing.TB, db *stoat.DB, bucket, key, value string) {
	t.Helper()
	ok(t, db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(value))
	}))
}
