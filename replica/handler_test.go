package replica

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"
)

// web serves the space of a replica over HTTP until the test ends.
func (p *peer) web(opts *ServeOptions) *httptest.Server {
	server := httptest.NewServer(Handler([]*Space{p.space}, opts))
	p.t.Cleanup(server.Close)
	return server
}

// browse syncs with a URL once.
func (p *peer) browse(url string, client *http.Client, opts SyncOptions) error {
	conn, err := DialHTTP(context.Background(), url, client)
	if err != nil {
		return err
	}
	opts.Once = true
	return Sync(context.Background(), p.space, conn, &opts)
}

func TestHandler_syncsByUpgrade(t *testing.T) {
	server := newPeer(t, nil)
	a, b := newPeer(t, server), newPeer(t, server)
	web := server.web(nil)
	a.put(task{ID: 1, Title: "a"})
	b.put(task{ID: 2, Title: "b"})
	for _, p := range []*peer{a, b, a} {
		must(t, p.browse(web.URL, nil, SyncOptions{Peer: server.space.device.ID()}))
	}
	agree(t, server, a, b)
	err := a.browse(web.URL, nil, SyncOptions{Peer: b.space.device.ID()})
	if !errors.Is(err, ErrPeerKey) && !errors.Is(err, ErrEnded) {
		t.Errorf("another device answers: %v", err)
	}
}

// proxied returns a server with TLS that passes requests on to another one without.
func proxied(t *testing.T, to *httptest.Server) *httptest.Server {
	t.Helper()
	target, err := url.Parse(to.URL)
	must(t, err)
	proxy := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(target))
	t.Cleanup(proxy.Close)
	return proxy
}

func TestHandler_worksBehindAProxyThatEndsTLS(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	proxy := proxied(t, server.web(nil))
	a.put(task{ID: 1, Title: "a"})
	must(t, a.browse(proxy.URL, proxy.Client(), SyncOptions{}))
	agree(t, server, a)
	a.put(task{ID: 2})
	must(t, Post(t.Context(), a.space, proxy.URL, &PostOptions{Client: proxy.Client()}))
	agree(t, server, a)
}

func TestHandler_refusesOtherRequests(t *testing.T) {
	server := newPeer(t, nil)
	web := server.web(nil)
	answer, err := http.Get(web.URL)
	must(t, err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("GET: %s", answer.Status)
	}
	for _, body := range []string{"", "x", fileMagic + "\x01", fileMagic + "\x02"} {
		answer, err := http.Post(web.URL, "", strings.NewReader(body))
		must(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("POST of %q that nobody has signed: %s", body, answer.Status)
		}
		got := server.answerTo(server.signedRequest([]byte(body)))
		if got.Code != http.StatusBadRequest {
			t.Errorf("POST of %q: %d", body, got.Code)
		}
	}
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	if err := server.browse(other.URL, nil, SyncOptions{}); err == nil {
		t.Error("a session with a server that knows nothing of it")
	}
	if err := Post(t.Context(), server.space, other.URL, nil); err == nil ||
		!strings.Contains(err.Error(), "404") {
		t.Errorf("a request to a server that knows nothing of it: %v", err)
	}
}

// A server may say anything; terminals must not obey it.
func TestPost_quotesWhatTheServerSays(t *testing.T) {
	a := newPeer(t, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "\x1b[2J", http.StatusTeapot)
	}))
	t.Cleanup(web.Close)
	if err := Post(t.Context(), a.space, web.URL, nil); err == nil ||
		strings.Contains(err.Error(), "\x1b") {
		t.Errorf("got %q", err)
	}
}

// A device that a request only claims to be from is not reported.
func TestHandler_reportsOnlyProvenDevices(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	claimed := DeviceID{}
	web := server.web(&ServeOptions{Ended: func(_ *Space, peer DeviceID, err error) {
		if claimed = peer; err == nil {
			t.Error("it was answered")
		}
	}})
	forged := &alter{request: func(_ *http.Request, p []byte) []byte { return append(p, 0) }}
	opts := &PostOptions{Client: &http.Client{Transport: forged}}
	if err := Post(t.Context(), a.space, web.URL, opts); err == nil {
		t.Error("it was answered")
	}
	web.Close() // waits for the handler
	if claimed != (DeviceID{}) {
		t.Errorf("it is said to come from %s", claimed)
	}
}

func TestHandler_hasAMostOfSessions(t *testing.T) {
	server := newPeer(t, nil)
	a, b := newPeer(t, server), newPeer(t, server)
	web := server.web(&ServeOptions{Sessions: 1})
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := DialHTTP(ctx, web.URL, nil)
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- Sync(ctx, a.space, conn, nil) }()
	if err := b.browse(web.URL, nil, SyncOptions{}); err == nil ||
		!strings.Contains(err.Error(), "too many") {
		t.Errorf("the second session: %v", err)
	}
	cancel()
	<-done
}

func TestPost_bringsReplicasTogether(t *testing.T) {
	server := newPeer(t, nil)
	a, b := newPeer(t, server), newPeer(t, server)
	requests := 0
	handler := Handler([]*Space{server.space}, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	opts := &PostOptions{Peer: server.space.device.ID()}
	a.put(task{ID: 1, Title: "a"})
	b.put(task{ID: 2, Title: "b"})
	server.put(task{ID: 3})
	for _, p := range []*peer{a, b, a} {
		must(t, Post(t.Context(), p.space, web.URL, opts))
	}
	agree(t, server, a, b)
	requests = 0
	must(t, Post(t.Context(), a.space, web.URL, opts))
	if requests != 1 {
		t.Errorf("nothing is new, and it takes %d requests", requests)
	}
}

// What does not fit into a request or an answer takes several.
func TestPost_ofMuch(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	for _, p := range []*peer{server, a} {
		for i := range int64(12) {
			p.put(task{ID: i, Note: strings.Repeat("note ", 150_000)})
		}
	}
	web := server.web(nil)
	must(t, Post(t.Context(), a.space, web.URL, nil))
	agree(t, server, a)
}

// A proxy that refuses large requests makes them smaller.
func TestPost_throughAProxyThatRefusesLargeRequests(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	for i := range int64(8) {
		a.put(task{ID: i, Note: strings.Repeat("note ", 75_000)})
	}
	handler := Handler([]*Space{server.space}, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > 600<<10 {
			http.Error(w, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	must(t, Post(t.Context(), a.space, web.URL, nil))
	agree(t, server, a)
	a.put(task{ID: 9, Note: strings.Repeat("note ", 200_000)}) // an entry cannot be sent in parts
	if err := Post(t.Context(), a.space, web.URL, nil); err == nil ||
		!strings.Contains(err.Error(), "limit") {
		t.Errorf("an entry that never fits: %v", err)
	}
}

func TestPost_refusesWhoIsNotMeant(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	errNo := errors.New("not today")
	closed := server.web(&ServeOptions{Sync: SyncOptions{
		Admit: func(*Space, DeviceID) error { return errNo },
	}})
	err := Post(t.Context(), a.space, closed.URL, nil)
	if err == nil || !strings.Contains(err.Error(), errNo.Error()) {
		t.Errorf("a device that is not admitted: %v", err)
	}
	web := server.web(nil)
	err = Post(t.Context(), a.space, web.URL, &PostOptions{Peer: a.space.device.ID()})
	if err == nil {
		t.Error("another device than the one that was meant answers")
	}
	a.now = noon.Add(time.Hour)
	err = Post(t.Context(), a.space, web.URL, nil)
	if err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("an hour later: %v", err)
	}
}

// alter is a transport that changes requests and answers on their way.
type alter struct {
	request func(*http.Request, []byte) []byte
	answer  func(*http.Response, []byte) []byte
}

func (x *alter) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	if x.request != nil {
		body = x.request(r, body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || x.answer == nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	body, err = io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(x.answer(answer, body)))
	return answer, nil
}

func TestPost_noticesWhatIsChangedOnTheWay(t *testing.T) {
	server := newPeer(t, nil)
	a, b := newPeer(t, server), newPeer(t, server)
	server.put(task{ID: 1})
	var kept []byte
	web := server.web(nil)
	flip := func(at int) func(p []byte) []byte {
		return func(p []byte) []byte {
			p = bytes.Clone(p)
			p[(at+len(p))%len(p)] ^= 1
			return p
		}
	}
	for name, x := range map[string]*alter{
		"request": {request: func(_ *http.Request, p []byte) []byte { return flip(-1)(p) }},
		"answer":  {answer: func(_ *http.Response, p []byte) []byte { return flip(-1)(p) }},
		"author": {request: func(r *http.Request, p []byte) []byte {
			r.Header.Set(headerDevice, b.space.device.ID().String())
			return p
		}},
		"server": {answer: func(r *http.Response, p []byte) []byte {
			r.Header.Set(headerDevice, b.space.device.ID().String())
			return p
		}},
		"time": {request: func(r *http.Request, p []byte) []byte {
			r.Header.Set(headerTime, "1")
			return p
		}},
		"earlier answer": {answer: func(_ *http.Response, p []byte) []byte {
			defer func() { kept = p }()
			if kept == nil {
				return flip(0)(p)
			}
			return kept
		}},
		"endless answer": {answer: func(_ *http.Response, p []byte) []byte {
			return append(p, make([]byte, postMax)...)
		}},
	} {
		before := a.root()
		err := Post(t.Context(), a.space, web.URL, &PostOptions{Client: &http.Client{Transport: x}})
		if err == nil || a.root() != before {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, Post(t.Context(), a.space, web.URL, nil))
	agree(t, server, a)
}

// A server that only talks of entries does not keep a client busy.
func TestPost_endsWhenNothingMoves(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	requests := byte(0)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		var answer bytes.Buffer
		f, err := newFrameWriter(&answer)
		must(t, err)
		must(t, f.write(fileSpace, append(bytes.Clone(a.space.id[:]), 0)))
		for _, p := range appendHeads([]fileHead{{LogID{requests}, 7, [32]byte{}}}) {
			must(t, f.write(fileHeads, p))
		}
		must(t, f.write(fileEnd, []byte{0}))
		must(t, server.space.reply(w, r, answer.Bytes()))
	}))
	t.Cleanup(web.Close)
	must(t, Post(t.Context(), a.space, web.URL, nil))
	if requests > 3 {
		t.Errorf("%d requests", requests)
	}
}

func TestPost_endsWithItsContext(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	web := server.web(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Post(ctx, a.space, web.URL, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %v", err)
	}
}

// Requests do not start a replica from a checkpoint: both sides say what does.
func TestPost_saysWhatToDoAboutWhatWasPruned(t *testing.T) {
	a := tinyPruned(t)
	late := newPeer(t, a)
	for _, err := range []error{
		Post(t.Context(), late.space, a.web(nil).URL, nil),
		Post(t.Context(), a.space, late.web(nil).URL, nil),
	} {
		if !errors.Is(err, ErrPruned) || !strings.Contains(err.Error(), "Sync") {
			t.Errorf("it returns %v", err)
		}
	}
	meet(t, a, late)
	late.put(task{ID: 3, Title: "posted"})
	must(t, Post(t.Context(), late.space, a.web(nil).URL, nil))
	agree(t, a, late)
}
