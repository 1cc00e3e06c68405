package studio

import (
	"encoding/hex"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/stoatdb/stoat"
)

// databaseAnswer says what the studio shows.
type databaseAnswer struct {
	Name     string    `json:"name"`    // the folder; empty for a database of the program
	Write    bool      `json:"write"`   // the page may change keys
	Follows  bool      `json:"follows"` // another process may write the database
	Identity string    `json:"identity"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
}

func (h *Handler) database(r *http.Request) (any, error) {
	a := databaseAnswer{
		Name: h.source.name(), Write: h.write, Follows: h.source.follows(),
		Version: version(), Started: h.started,
	}
	err := h.use(r.Context(), func(db *stoat.DB) error {
		id := db.Identity().Database
		a.Identity = hex.EncodeToString(id[:])
		return nil
	})
	return a, err
}

// version returns the version of the program's module.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}
