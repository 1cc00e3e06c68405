// Package page holds the files of the studio's page, and serves them. They load nothing from
// elsewhere and need no build step. The handler is safe for concurrent use.
package page

import (
	"embed"
	"net/http"
	"path"
)

// files are the page's. They are immutable.
//
//go:embed *.html *.css *.js *.svg
var files embed.FS

// types are the types of the files by their extension, since those that a system knows may differ.
// They are immutable.
var types = map[string]string{
	"":      "text/html; charset=utf-8", // index.html
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Handler returns what serves the page and its files.
func Handler() http.Handler {
	serve := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind := types[path.Ext(r.URL.Path)]; kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		serve.ServeHTTP(w, r)
	})
}
