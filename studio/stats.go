package studio

import (
	"net/http"
	"reflect"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stoatdb/stoat"
)

// statsAnswer is the numbers of a database at one moment.
type statsAnswer struct {
	Time               time.Time      `json:"time"`
	Error              string         `json:"error,omitempty"` // what keeps the database from its work
	Stats              map[string]any `json:"stats"`           // the fields of stoat.Stats
	WriteAmplification float64        `json:"writeAmplification"`
	SpaceAmplification float64        `json:"spaceAmplification"`
}

func (h *Handler) stats(r *http.Request) (any, error) {
	a := statsAnswer{Time: time.Now()}
	err := h.use(r.Context(), func(db *stoat.DB) error {
		if err := db.Err(); err != nil {
			a.Error = err.Error()
		}
		s := db.Stats()
		a.Stats = numbers(s)
		a.WriteAmplification, a.SpaceAmplification = s.WriteAmplification(), s.SpaceAmplification()
		return nil
	})
	return a, err
}

// numbers returns the fields of stats by their names in camel case. A duration is in nanoseconds.
func numbers(s stoat.Stats) map[string]any {
	all := map[string]any{}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		first, size := utf8.DecodeRuneInString(name)
		all[string(unicode.ToLower(first))+name[size:]] = v.Field(i).Interface()
	}
	return all
}
