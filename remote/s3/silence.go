package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// silenceMax is for how long a request may make no progress before it is cut. Servers answer
	// within seconds; a client that waits for longer waits for a connection that is dead, and nothing
	// else would end that: the system goes on for a quarter of an hour, or for ever.
	silenceMax = 30 * time.Second
	// Once all of a body was handed to the system, the rest of it moves unseen: as much as it buffers,
	// over a link that may be slow.
	bufferedMax  = 4 << 20
	bufferedRate = 32 << 10 // bytes a second
	slowestRate  = 1 << 10
)

// errSilent reports a request that was cut.
var errSilent = errors.New("the connection makes no progress")

// attentive is a network that cuts requests which make no progress, and no others: a transfer may
// be as slow as it likes. Time in which a body waits for its own source does not count. Answers
// always say when an object was last modified.
type attentive struct {
	http.RoundTripper
	link *link
}

// link is how many bytes a second the network is taken to carry at least, where nobody sees them
// move. A request that is cut may have been slow and not dead, and would be cut for ever: so the
// next one has twice the time. Safe for concurrent use.
type link struct{ rate atomic.Int64 }

func newLink() *link {
	l := new(link)
	l.rate.Store(bufferedRate)
	return l
}

// unseen returns for how long a body may move unseen, at a rate.
func unseen(size, rate int64) time.Duration {
	return time.Duration(min(max(size, 0), bufferedMax)) * time.Second / time.Duration(rate)
}

// learn changes the rate after a request that was made with one: whether it was cut or, if not, how
// long it took once all of its body was handed over.
func (l *link) learn(rate, size int64, cut bool, took time.Duration) {
	switch bound := unseen(size, rate); {
	case size <= slowestRate*int64(silenceMax/time.Second): // it says nothing
	case cut:
		l.rate.CompareAndSwap(rate, max(rate/2, slowestRate))
	case bound > silenceMax && took < bound/2:
		l.rate.CompareAndSwap(rate, min(2*rate, bufferedRate))
	}
}

// RoundTrip implements [http.RoundTripper].
func (a attentive) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cut := context.WithCancelCause(r.Context())
	w := newWatch(func() { cut(errSilent) })
	r = r.WithContext(ctx)
	sent := (*sentBody)(nil)
	if rate := a.link.rate.Load(); r.Body != nil && r.Body != http.NoBody {
		sent = &sentBody{r.Body, w, silenceMax + unseen(r.ContentLength, rate), rate}
		r.Body = sent
	}
	response, err := a.RoundTripper.RoundTrip(r)
	took := w.answer()
	if cut := errors.Is(context.Cause(ctx), errSilent); sent != nil && (cut || err == nil) {
		a.link.learn(sent.rate, r.ContentLength, cut, took)
	}
	if err != nil {
		err = explain(ctx, err)
		cut(nil)
		return nil, err
	}
	// The client fails without a date, and nothing here depends on it: writers record times.
	if _, err := http.ParseTime(response.Header.Get("Last-Modified")); err != nil {
		response.Header.Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
	}
	response.Body = &receivedBody{response.Body, ctx, w, func() { cut(nil) }}
	return response, nil
}

// explain returns the error of a request, which says so if it was cut.
func explain(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) && !errors.Is(err, errSilent) {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	return err
}

// watch cuts a request that is silent. Safe for concurrent use.
type watch struct {
	mu       sync.Mutex
	timer    *time.Timer
	moved    time.Time // when the body last moved
	answered bool      // the answer has begun, so what is sent does not matter
}

// newWatch returns a watch over a request that begins.
func newWatch(cut func()) *watch { return &watch{timer: time.AfterFunc(silenceMax, cut)} }

// answer says that the answer has begun, or never will. It returns how long that took since the
// body last moved.
func (w *watch) answer() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered = true
	w.timer.Stop()
	return time.Since(w.moved)
}

// sending says that the request waits for its body, or, with a bound, for the network.
func (w *watch) sending(bound time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.answered:
	case bound == 0:
		w.timer.Stop()
	default:
		w.moved = time.Now()
		w.timer.Reset(bound)
	}
}

// sentBody is the body of a request.
type sentBody struct {
	io.ReadCloser
	watch *watch
	last  time.Duration // for how long the request may be silent once it has all of the body
	rate  int64         // bytes a second that the network is taken to carry: a piece has no more
}

// Read implements [io.Reader].
func (b *sentBody) Read(p []byte) (n int, err error) {
	b.watch.sending(0)
	n, err = b.ReadCloser.Read(p[:min(int64(len(p)), b.rate)])
	if err != nil {
		b.watch.sending(b.last)
	} else {
		b.watch.sending(silenceMax)
	}
	return n, err
}

// receivedBody is the body of an answer.
type receivedBody struct {
	io.ReadCloser
	ctx   context.Context // of the request
	watch *watch
	end   func()
}

// Read implements [io.Reader].
func (b *receivedBody) Read(p []byte) (n int, err error) {
	b.watch.timer.Reset(silenceMax)
	n, err = b.ReadCloser.Read(p)
	b.watch.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		err = explain(b.ctx, err)
	}
	return n, err
}

// Close implements [io.Closer].
func (b *receivedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
