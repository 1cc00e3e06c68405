package studio

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/stoatdb/stoat"
)

const (
	// valueShown is how much of a value is shown at a time.
	valueShown = 64 << 10
	// largeValue is the size from which values are read one at a time, since they may be decoded or
	// decrypted as a whole.
	largeValue = 8 << 20
	// downloadStep is how much of a download is written at a time, and stepTime how long that may
	// take.
	downloadStep = 256 << 10
	stepTime     = 30 * time.Second
	// A download holds a snapshot, which keeps what is deleted meanwhile: so it may take
	// downloadTime, and a second for each downloadStep.
	downloadTime = time.Minute
)

// valueAnswer is a part of a value.
type valueAnswer struct {
	Key     blob       `json:"key"`
	Value   blob       `json:"value"` // from the offset on
	Offset  int64      `json:"offset"`
	Expires *time.Time `json:"expires,omitempty"`
	JSON    bool       `json:"json"` // all of the value is shown, and is JSON
}

func (h *Handler) value(r *http.Request) (any, error) {
	p := parametersOf(r)
	path, key := p.path(), p.bytes("key")
	a := valueAnswer{Key: whole(key), Offset: p.number("offset", 0, 0, 1<<40)}
	if p.err != nil {
		return nil, p.err
	}
	err := h.withValue(r.Context(), path, key, func(b stoat.KeySpace) (err error) {
		value, err := b.Get(key)
		if err != nil {
			return err
		}
		if a.Offset > int64(len(value)) {
			return badf("the value has %d bytes", len(value))
		}
		rest := value[a.Offset:]
		a.Value = *start(rest, valueShown)
		a.Value.Size = len(value)
		a.JSON = a.Offset == 0 && !a.Value.Cut && a.Value.Text != nil && json.Valid(value)
		a.Expires, err = expiryOf(b, key)
		return err
	})
	return a, err
}

// withValue calls fn with the bucket of a key that exists, in a transaction. Of large values, it
// lets only one at a time be read.
func (h *Handler) withValue(
	ctx context.Context, path [][]byte, key []byte, fn func(b stoat.KeySpace) error,
) error {
	return h.view(ctx, func(tx *stoat.Tx) error {
		b, err := bucketAt(tx, path)
		if err != nil {
			return err
		}
		size, err := b.Size(key)
		if err != nil {
			return err
		}
		if size >= largeValue {
			if err := take(ctx, h.large); err != nil {
				return err
			}
			defer func() { <-h.large }()
		}
		return fn(b)
	})
}

// download sends a whole value as a file.
func (h *Handler) download(w http.ResponseWriter, r *http.Request) error {
	p := parametersOf(r)
	path, key := p.path(), p.bytes("key")
	if p.err != nil {
		return p.err
	}
	ctx, cancel := context.WithTimeout(r.Context(), requestTime)
	defer cancel()
	if err := take(ctx, h.sending); err != nil {
		return err
	}
	defer func() { <-h.sending }()
	begun := false
	err := h.view(r.Context(), func(tx *stoat.Tx) error {
		b, err := bucketAt(tx, path)
		if err != nil {
			return err
		}
		value, err := b.Get(key)
		if err != nil {
			return err
		}
		begun = true
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(value)))
		w.Header().Set("Content-Disposition",
			mime.FormatMediaType("attachment", map[string]string{"filename": fileName(key)}))
		return sendSlowly(w, value)
	})
	if begun {
		return nil // what was sent tells the rest
	}
	return err
}

// sendSlowly writes p, and gives up when the reader takes too long for a part of it, or for all.
func sendSlowly(w http.ResponseWriter, p []byte) error {
	control := http.NewResponseController(w)
	defer noDeadline(control)
	end := time.Now().Add(downloadTime + time.Duration(len(p)/downloadStep)*time.Second)
	for len(p) > 0 {
		n := min(len(p), downloadStep)
		if left := time.Until(end); left < stepTime {
			_ = control.SetWriteDeadline(end)
		} else {
			deadline(control)
		}
		if _, err := w.Write(p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// deadline gives the next write some time. Where that is not possible, the deadlines of the server
// hold.
func deadline(c *http.ResponseController) { _ = c.SetWriteDeadline(time.Now().Add(stepTime)) }

// noDeadline lets the connection serve later requests.
func noDeadline(c *http.ResponseController) { _ = c.SetWriteDeadline(time.Time{}) }

// fileName returns the name of a file for a value: the letters and digits of its key.
func fileName(key []byte) string {
	const most = 64
	var name []byte
	for _, c := range key {
		switch {
		case len(name) == most:
			return string(name)
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_',
			c == '.' && len(name) > 0:
			name = append(name, c)
		}
	}
	if len(name) == 0 {
		return "value"
	}
	return string(name)
}
