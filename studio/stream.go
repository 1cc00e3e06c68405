package studio

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// stream sends events to a page, as text/event-stream. After an error it sends nothing more. It is
// not safe for concurrent use.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// startStream begins the answer.
func startStream(w http.ResponseWriter) (*stream, error) {
	s := &stream{w: w, control: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	deadline(s.control)
	if err := s.control.Flush(); err != nil {
		return nil, fmt.Errorf("the server cannot stream: %w", err)
	}
	return s, nil
}

// end lets the connection go.
func (s *stream) end() { noDeadline(s.control) }

// send sends an event.
func (s *stream) send(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		s.err = err
	}
	s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, text))
}

// beat sends what says nothing, to find out whether somebody is there.
func (s *stream) beat() { s.write(":\n\n") }

func (s *stream) write(text string) {
	if s.err != nil {
		return
	}
	deadline(s.control)
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.control.Flush()
	}
}

// beatPause is how long a stream may be silent.
const beatPause = 15 * time.Second

// pass sends what comes from a queue until its end, or until ctx is done.
func (s *stream) pass(ctx context.Context, q *queue) error {
	beat := time.NewTicker(beatPause)
	defer beat.Stop()
	for s.err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			s.beat()
		case <-q.ready:
			w := q.take()
			for _, e := range w.events {
				s.send("change", e)
			}
			if w.reason != "" {
				s.send("gap", gapEvent{w.missed, w.reason})
			}
			if w.ended {
				s.send("end", endEvent{w.end})
				return nil
			}
		}
	}
	return nil // the page is gone
}

// queueMost is how many changes may wait for a page. Further ones are counted only, so that a slow
// page costs little memory, and nobody waits for it.
const queueMost = 256

// queue holds the changes that a page was not told yet. It is safe for concurrent use.
type queue struct {
	ready chan struct{} // has an element if there is something to take

	mu      sync.Mutex
	waiting waiting
}

// waiting is what a queue holds.
type waiting struct {
	events []changeEvent
	missed int    // changes that come after events
	reason string // why there is a gap after events; empty if there is none
	end    string // why there are no more
	ended  bool
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

// offer adds a change, or counts it if the queue is full or has missed some already.
func (q *queue) offer(e changeEvent) {
	q.change(func(w *waiting) {
		if w.reason == "" && len(w.events) < queueMost {
			w.events = append(w.events, e)
			return
		}
		w.missed++
		if w.reason == "" {
			w.reason = "more changes than the page takes"
		}
	})
}

// gap says that changes were missed for a reason.
func (q *queue) gap(reason string) { q.change(func(w *waiting) { w.reason = reason }) }

// finish says why there are no more changes.
func (q *queue) finish(reason string) {
	q.change(func(w *waiting) { w.end, w.ended = reason, true })
}

func (q *queue) change(fn func(w *waiting)) {
	q.mu.Lock()
	fn(&q.waiting)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take empties the queue.
func (q *queue) take() waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.waiting
	q.waiting = waiting{}
	return w
}
