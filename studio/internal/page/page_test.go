package page

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHandler_saysTheTypesOfFiles(t *testing.T) {
	for path, want := range map[string]string{
		"/":           "text/html; charset=utf-8",
		"/studio.js":  "text/javascript; charset=utf-8",
		"/studio.css": "text/css; charset=utf-8",
		"/icon.svg":   "image/svg+xml",
	} {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != want {
			t.Errorf("%s has status %d and type %q", path, w.Code, got)
		}
	}
}
