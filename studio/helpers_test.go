package studio

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// memory returns an empty database that the test's end closes.
func memory(t testing.TB) *stoat.DB {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

// update runs fn in a transaction that must commit.
func update(t testing.TB, db *stoat.DB, fn func(tx *stoat.Tx) error) {
	t.Helper()
	ok(t, db.Update(fn))
}

// browser is a client of a studio, as a page in a browser is one.
type browser struct {
	t      testing.TB
	studio *Handler
	server *httptest.Server
	client *http.Client
	header http.Header // of each request
}

// browse serves a studio and returns a browser that has a session there.
func browse(t testing.TB, h *Handler) *browser {
	t.Helper()
	b := visit(t, h)
	if status, text := b.post("session", map[string]string{"token": h.NewToken()}); status != 200 {
		t.Fatalf("no session: %d %s", status, text)
	}
	return b
}

// visit is browse without a session.
func visit(t testing.TB, h *Handler) *browser {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/here", h))
	t.Cleanup(func() {
		server.CloseClientConnections() // a test that failed may have left a stream open
		server.Close()
	})
	b := &browser{t, h, server, server.Client(), http.Header{}}
	return b.forget()
}

// forget gives up the session.
func (b *browser) forget() *browser {
	jar, err := cookiejar.New(nil)
	ok(b.t, err)
	client := *b.client
	client.Jar = jar
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	b.client = &client
	return b
}

// send sends a request to a path of the studio.
func (b *browser) send(method, path string, body io.Reader) *http.Response {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+"/here/"+path, body)
	ok(b.t, err)
	for name, values := range b.header {
		if r.Header[name] = values; name == "Host" {
			r.Host = values[0]
		}
	}
	answer, err := b.client.Do(r)
	ok(b.t, err)
	return answer
}

// read returns the status and the text of an answer.
func (b *browser) read(answer *http.Response) (status int, text string) {
	b.t.Helper()
	p, err := io.ReadAll(answer.Body)
	ok(b.t, err)
	ok(b.t, answer.Body.Close())
	return answer.StatusCode, string(p)
}

// ask gets what an endpoint answers; the parameters are names and values in turn.
func (b *browser) ask(endpoint string, parameters ...string) (status int, text string) {
	b.t.Helper()
	query := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	return b.read(b.send(http.MethodGet, "api/"+endpoint+"?"+query.Encode(), nil))
}

// post sends a request as JSON.
func (b *browser) post(endpoint string, request any) (status int, text string) {
	b.t.Helper()
	p, err := json.Marshal(request)
	ok(b.t, err)
	header := b.header
	defer func() { b.header = header }()
	if b.header = header.Clone(); header.Get("Content-Type") == "" {
		b.header.Set("Content-Type", "application/json")
	}
	return b.read(b.send(http.MethodPost, "api/"+endpoint, bytes.NewReader(p)))
}

// get asks an endpoint, which must answer.
func get[T any](b *browser, endpoint string, parameters ...string) (answer T) {
	b.t.Helper()
	status, text := b.ask(endpoint, parameters...)
	if status != http.StatusOK {
		b.t.Fatalf("%s %v has status %d: %s", endpoint, parameters, status, text)
	}
	ok(b.t, json.Unmarshal([]byte(text), &answer))
	return answer
}

// refused fails the test unless an answer is an error with a status, whose text has the parts.
func refused(t testing.TB, status int, text string, want int, parts ...string) {
	t.Helper()
	var answer struct{ Error string }
	err := json.Unmarshal([]byte(text), &answer)
	if status != want || err != nil || answer.Error == "" {
		t.Errorf("status %d, want %d: %s", status, want, text)
	}
	for _, part := range parts {
		if !strings.Contains(answer.Error, part) {
			t.Errorf("the error is %q, want it to say %q", answer.Error, part)
		}
	}
}

// path returns the path of a bucket as a parameter.
func path(names ...string) string {
	var p [][]byte
	for _, name := range names {
		p = append(p, []byte(name))
	}
	return formatPath(p)
}

// id returns a key as a parameter.
func id(key string) string { return formatBytes([]byte(key)) }
