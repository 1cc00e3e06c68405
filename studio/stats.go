package studio

import (
	"net/http"
	"time"

	"github.com/stoatdb/stoat"
)

// statsAnswer is the numbers of a database at one moment.
type statsAnswer struct {
	Time               time.Time   `json:"time"`
	Error              string      `json:"error,omitempty"` // what keeps the database from its work
	Stats              stoat.Stats `json:"stats"`           // by the names of its fields
	WriteAmplification float64     `json:"writeAmplification"`
	SpaceAmplification float64     `json:"spaceAmplification"`
}

func (h *Handler) stats(r *http.Request) (any, error) {
	a := statsAnswer{Time: time.Now()}
	err := h.use(r.Context(), func(db *stoat.DB) error {
		if err := db.Err(); err != nil {
			a.Error = err.Error()
		}
		a.Stats = db.Stats()
		a.WriteAmplification = a.Stats.WriteAmplification()
		a.SpaceAmplification = a.Stats.SpaceAmplification()
		return nil
	})
	return a, err
}
