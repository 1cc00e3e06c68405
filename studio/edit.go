package studio

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/stoatdb/stoat"
)

// editRequest asks for a change of one key.
type editRequest struct {
	Path    string     `json:"path"`
	Key     []byte     `json:"key"`
	Value   []byte     `json:"value"`             // of a put
	Expires *time.Time `json:"expires,omitempty"` // of a put; absent for never
}

func (h *Handler) put(r *http.Request) (any, error) {
	return h.edit(r, func(b stoat.KeySpace, e *editRequest) error {
		if e.Expires != nil {
			return b.PutUntil(e.Key, e.Value, *e.Expires)
		}
		return b.Put(e.Key, e.Value)
	})
}

func (h *Handler) delete(r *http.Request) (any, error) {
	return h.edit(r, func(b stoat.KeySpace, e *editRequest) error {
		found, err := b.Has(e.Key)
		if err == nil && !found {
			err = stoat.ErrNotFound
		}
		if err != nil {
			return err
		}
		return b.Delete(e.Key)
	})
}

// edit makes a change that a request asks for, unless it would make the parts of a collection or a
// feed disagree.
func (h *Handler) edit(
	r *http.Request, change func(b stoat.KeySpace, e *editRequest) error,
) (any, error) {
	if !h.write {
		return nil, problemf(http.StatusForbidden, "the studio is read-only: start it with -write, "+
			"which needs the database to itself, or set Options.Write")
	}
	var e editRequest
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return nil, badf("the request: %v", err)
	}
	path, ok := parsePath(e.Path)
	if !ok {
		return nil, badf("the path must be names in base64url without padding, joined by dots")
	}
	ctx := r.Context()
	err := h.use(ctx, func(db *stoat.DB) error {
		return db.UpdateContext(ctx, func(tx *stoat.Tx) error {
			b, err := bucketAt(tx, path)
			if err != nil {
				return err
			}
			if err := wantPlain(tx, path); err != nil {
				return err
			}
			return change(b, &e)
		})
	})
	return struct{}{}, err
}

// wantPlain returns an error if a bucket is part of what another package keeps.
func wantPlain(tx *stoat.Tx, path [][]byte) error {
	if len(path) == 0 {
		return nil
	}
	b, err := tx.Bucket(path[0])
	if err != nil {
		return err
	}
	kind, err := kindOf(b, path[0])
	if err == nil && kind != plainBucket {
		err = problemf(http.StatusForbidden, "the keys of this bucket (%s) belong together: change "+
			"them with the program that keeps it", kind)
	}
	return err
}
