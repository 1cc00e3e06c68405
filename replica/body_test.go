package replica

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// signedRequest returns a request that a device has signed, with a body.
func (p *peer) signedRequest(body []byte) *http.Request {
	p.t.Helper()
	from := &poster{ctx: p.t.Context(), space: p.space, url: "/", opts: &PostOptions{}}
	r, _, err := from.request(body)
	must(p.t, err)
	return r
}

// answerTo returns what a replica answers to a request.
func (p *peer) answerTo(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	Handler([]*Space{p.space}, nil).ServeHTTP(w, r)
	return w
}

// endless is a body without an end.
type endless struct {
	first io.Reader
	read  int
}

func (e *endless) Read(p []byte) (int, error) {
	n, err := e.first.Read(p)
	if err != nil {
		n = len(p)
		clear(p)
	}
	e.read += n
	return n, nil
}

// A request of somebody who has proven nothing is not read; one of a device without a grant, or
// about a space that is not here, is read up to a limit.
func TestAttack14_requestsWithoutEnd(t *testing.T) {
	server := newPeer(t, nil)
	device, err := NewDevice()
	must(t, err)
	db, err := stoat.OpenMemory(nil)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	opts := &Options{Device: device, Now: server.options().Now}
	joined, err := Join(db, "team", server.space.ID(), opts)
	must(t, err)
	other, err := Create(db, "other", opts)
	must(t, err)
	stranger, elsewhere := &peer{t: t, db: db, space: joined}, &peer{t: t, db: db, space: other}
	about := func(p *peer) []byte {
		body, err := p.space.packet(t.Context(), &parcel{most: 0})
		must(t, err)
		return body
	}
	forged := stranger.signedRequest(about(stranger))
	forged.Header.Set(headerDevice, server.space.device.ID().String())
	zeros := stranger.signedRequest(about(stranger)) // anybody can sign with that key
	zeros.Header.Set(headerDevice, DeviceID{}.String())
	zeros.Header.Set(headerSignature, "01"+strings.Repeat("00", 63))
	for name, c := range map[string]struct {
		r      *http.Request
		most   int
		status int
	}{
		"of zeros":    {zeros, 0, http.StatusUnauthorized},
		"nobody's":    {httptest.NewRequest(http.MethodPost, "/", nil), 0, http.StatusUnauthorized},
		"in its name": {forged, 0, http.StatusUnauthorized},
		"of no file":  {server.signedRequest(nil), postFirst, http.StatusBadRequest},
		"elsewhere":   {elsewhere.signedRequest(about(elsewhere)), postFirst, http.StatusNotFound},
		"of a stranger": {stranger.signedRequest(about(stranger)), postFirst + postStranger,
			http.StatusRequestEntityTooLarge},
	} {
		body := &endless{first: c.r.Body}
		c.r.Body = io.NopCloser(body)
		if w := server.answerTo(c.r); w.Code != c.status || body.read > c.most {
			t.Errorf("%s: %d, after %d bytes", name, w.Code, body.read)
		}
	}
}

// timed is an answer on a connection with deadlines.
type timed struct {
	*httptest.ResponseRecorder
	reading, writing []time.Duration // from now on
	sent             *endless        // the request
	read             []int           // bytes of it, at each deadline for reading
}

func (w *timed) SetReadDeadline(at time.Time) error {
	w.reading, w.read = append(w.reading, time.Until(at)), append(w.read, w.sent.read)
	return nil
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	w.writing = append(w.writing, time.Until(at))
	return nil
}

// A peer has little time to say who it is, and then some for each part of a request and an answer.
func TestAttack14_slowRequests(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	for i := range int64(50) {
		a.put(task{ID: i, Title: string(bytes.Repeat([]byte{'a'}, 4000))})
	}
	must(t, a.space.Seal())
	body, err := a.space.packet(t.Context(), &parcel{since: Vector{}, most: postBytes})
	must(t, err)
	r := a.signedRequest(body)
	sent := &endless{first: r.Body}
	r.Body = io.NopCloser(io.LimitReader(sent, int64(len(body))))
	w := &timed{ResponseRecorder: httptest.NewRecorder(), sent: sent}
	Handler([]*Space{server.space}, nil).ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if n := len(body) / postEach; len(w.reading) < 2 || len(w.reading) > n+2 || len(w.writing) < 2 {
		t.Fatalf("%d bytes: deadlines %v, %v", len(body), w.reading, w.writing)
	}
	if first := w.reading[0]; first > handshakeMax || w.read[1] > postFirst {
		t.Errorf("at first, it has %s, for %d bytes", first, w.read[1])
	}
	for _, d := range append(w.reading[1:], w.writing[:len(w.writing)-1]...) {
		if d > postPatience {
			t.Errorf("a part has %s", d)
		}
	}
}
