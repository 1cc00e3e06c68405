package studio

import (
	"context"
	"net/http"
	"time"
)

// route is an endpoint of the API. Either answer or stream is set.
type route struct {
	method string
	open   bool // needs no session
	// answer returns what is sent as JSON.
	answer func(h *Handler, r *http.Request) (any, error)
	// stream writes the answer itself, and returns an error only before it has written anything.
	stream func(h *Handler, w http.ResponseWriter, r *http.Request) error
}

// routes returns the endpoints by their names behind api/.
func routes() map[string]route {
	get, post := http.MethodGet, http.MethodPost
	return map[string]route{
		"session":    {method: post, open: true, stream: (*Handler).session},
		"database":   {method: get, answer: (*Handler).database},
		"stats":      {method: get, answer: (*Handler).stats},
		"shape":      {method: get, answer: (*Handler).shape},
		"bucket":     {method: get, answer: (*Handler).bucket},
		"buckets":    {method: get, answer: (*Handler).buckets},
		"keys":       {method: get, answer: (*Handler).keys},
		"value":      {method: get, answer: (*Handler).value},
		"download":   {method: get, stream: (*Handler).download},
		"put":        {method: post, answer: (*Handler).put},
		"delete":     {method: post, answer: (*Handler).delete},
		"collection": {method: get, answer: (*Handler).collection},
		"query":      {method: get, answer: (*Handler).query},
		"feed":       {method: get, answer: (*Handler).feed},
		"entries":    {method: get, answer: (*Handler).entries},
		"changes":    {method: get, stream: (*Handler).changes},
	}
}

// serveAPI answers a request for an endpoint, which has passed the guard.
func (h *Handler) serveAPI(w http.ResponseWriter, r *http.Request, name string) {
	to, ok := h.routes[name]
	switch {
	case !ok:
		fail(w, problemf(http.StatusNotFound, "there is no api/%.100q", name))
		return
	case to.method != r.Method:
		w.Header().Set("Allow", to.method)
		fail(w, problemf(http.StatusMethodNotAllowed, "ask with %s, not %.20q", to.method, r.Method))
		return
	}
	if err := h.serveRoute(w, r, to); err != nil {
		fail(w, err)
	}
}

// serveRoute returns an error only if nothing has been written.
func (h *Handler) serveRoute(w http.ResponseWriter, r *http.Request, to route) error {
	if !to.open {
		if err := h.authenticate(r); err != nil {
			return err
		}
	}
	if to.method == http.MethodPost {
		if err := wantJSON(r); err != nil {
			return err
		}
		limitBody(w, r, to.open)
	}
	if to.stream != nil {
		return to.stream(h, w, r)
	}
	answer, err := h.answer(r, to)
	if err != nil {
		return err
	}
	control := http.NewResponseController(w)
	deadline(control)
	defer noDeadline(control)
	return send(w, answer)
}

// limitBody bounds the size of a request, and the time in which it must come. The server lifts the
// latter before the next request.
func limitBody(w http.ResponseWriter, r *http.Request, open bool) {
	most := int64(bodyMost)
	if open {
		most = openBodyMost
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(requestTime))
}

// answer returns the answer of a route. A request takes a place only while its answer is computed,
// so a slow client holds up nobody.
func (h *Handler) answer(r *http.Request, to route) (any, error) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	if err := take(ctx, h.working); err != nil {
		return nil, err
	}
	defer func() { <-h.working }()
	return to.answer(h, r.WithContext(ctx))
}

// take waits for a place.
func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return problemf(http.StatusServiceUnavailable, "too many requests at once: try again")
	}
}
