package studio

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stoatdb/stoat"
)

// changeEvent tells a page about one write.
type changeEvent struct {
	Kind   string `json:"kind"`          // put, delete or deleteRange
	Key    *blob  `json:"key,omitempty"` // of a range: its start; absent for no bound
	End    *blob  `json:"end,omitempty"` // of a range: its end, not included
	Value  *blob  `json:"value,omitempty"`
	Commit uint64 `json:"commit,string"` // the position of its commit
}

// stateEvent tells a page which state it sees.
type stateEvent struct {
	Commit uint64 `json:"commit,string"` // the position of the newest commit
}

// gapEvent tells a page that it was not told everything.
type gapEvent struct {
	Missed int    `json:"missed,omitempty"` // changes, if their number is known
	Reason string `json:"reason"`
}

// endEvent tells a page that the stream is over.
type endEvent struct {
	Reason string `json:"reason"`
}

// changes streams the changes of a bucket, or, of a database that is followed, each new state.
func (h *Handler) changes(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r)
	path := p.path()
	if p.err != nil {
		return p.err
	}
	select {
	case h.watching <- struct{}{}:
	default:
		return problemf(http.StatusServiceUnavailable, "too many pages watch changes: close some")
	}
	defer func() { <-h.watching }()
	if h.source.follows() {
		return h.tellStates(w, r)
	}
	return h.use(r.Context(), func(db *stoat.DB) error {
		err := db.View(func(tx *stoat.Tx) error {
			_, err := bucketAt(tx, path)
			return err
		})
		if err != nil {
			return err
		}
		return tellChanges(w, r, db, path)
	})
}

// tellChanges streams the changes of a bucket until one side has enough.
func tellChanges(
	w http.ResponseWriter, r *http.Request, db *stoat.DB, path [][]byte,
) error {
	ctx, cancel := context.WithCancel(r.Context())
	from := db.Position()
	events := newQueue()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(ctx, db, path, from, events)
	}()
	defer func() {
		cancel()
		<-watched // nobody uses the database any more
	}()
	s, err := startStream(w)
	if err != nil {
		return err
	}
	defer s.end()
	s.send("state", stateEvent{uint64(from)})
	return s.pass(ctx, events)
}

// watch puts the changes of a bucket into a queue until ctx is done or there are no more.
func watch(
	ctx context.Context, db *stoat.DB, path [][]byte, from stoat.Position, events *queue,
) {
	for {
		lagged := false
		for c, err := range db.WatchBucket(ctx, path, stoat.Range{}, from) {
			switch {
			case errors.Is(err, stoat.ErrLagged):
				events.gap("changes came faster than they could be followed, or all at once")
				from, lagged = c.Position, true
			case err != nil:
				events.finish(err.Error())
			default:
				events.offer(eventOf(c))
			}
		}
		if !lagged {
			return
		}
	}
}

// eventOf returns the event of a change, whose bytes it copies as far as they are shown.
func eventOf(c stoat.Change) changeEvent {
	e := changeEvent{Commit: uint64(c.Position)}
	switch c.Kind {
	case stoat.ChangePut:
		e.Kind, e.Key, e.Value = "put", start(c.Key, keyShown), start(c.Value, previewShown)
	case stoat.ChangeDelete:
		e.Kind, e.Key = "delete", start(c.Key, keyShown)
	case stoat.ChangeDeleteRange:
		e.Kind = "deleteRange"
		if c.Key != nil {
			e.Key = start(c.Key, keyShown)
		}
		if c.End != nil {
			e.End = start(c.End, keyShown)
		}
	}
	return e
}

// tellStates streams the positions of the states that are seen.
func (h *Handler) tellStates(w http.ResponseWriter, r *http.Request) error {
	s, err := startStream(w)
	if err != nil {
		return err
	}
	defer s.end()
	again := time.NewTicker(followPause)
	defer again.Stop()
	var told stoat.Position
	trouble := ""
	for first := true; s.err == nil; first = false {
		var at stoat.Position
		err := h.use(r.Context(), func(db *stoat.DB) error {
			at = db.Position()
			return nil
		})
		switch {
		case errors.Is(err, stoat.ErrClosed):
			s.send("end", endEvent{err.Error()})
			return nil
		case err != nil && err.Error() != trouble:
			trouble = err.Error()
			s.send("gap", gapEvent{Reason: trouble})
		case err == nil && (first || at != told || trouble != ""):
			told, trouble = at, ""
			s.send("state", stateEvent{uint64(at)})
		default:
			s.beat()
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-again.C:
		}
	}
	return nil
}
