// Package studio shows a Stoat database in the browser: an [http.Handler] that serves a page and
// the API behind it, read-only unless told otherwise.
//
// A [Handler] works on a database that the program has open ([New]), or follows one that another
// process writes ([Follow]). It can be mounted at any path. Whoever wants to look needs a one-time
// token ([Handler.NewToken]), which the page exchanges for a session; or the program decides by
// [Options.Allow]. Every answer is bounded in size, and no transaction outlives its request.
//
// A Handler is safe for concurrent use. It does not listen, print or open a browser: the command
// stoat-studio does.
package studio

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/studio/internal/page"
)

// Options configures a [Handler]. The zero value and a nil *Options mean the defaults.
type Options struct {
	// Write lets the page put and delete keys. Default: false. A database that is opened read-only,
	// or followed, cannot be written anyway.
	Write bool

	// Allow decides whether a request may be answered, instead of tokens, sessions, and the check
	// that the request comes from this machine: for programs that serve the handler behind
	// their own authentication. What the browser says about the origin of a request is still
	// checked, but not the name of the host: so it must check a credential, or r.Host as well. The
	// address that a request comes from is not enough, since pages of other sites are in browsers at
	// that address. Default: nil, which asks for a session of [Handler.NewToken].
	Allow func(r *http.Request) bool
}

// Handler serves the studio of one database. It is safe for concurrent use.
type Handler struct {
	source  source
	write   bool
	allow   func(*http.Request) bool
	started time.Time

	routes   map[string]route
	files    http.Handler
	sessions *sessions
	working  chan struct{} // a place for each request whose answer is computed
	watching chan struct{} // for each stream of changes
	sending  chan struct{} // for each download
	large    chan struct{} // held while a large value is in memory
}

// How many requests are answered at the same time; others wait, except for streams.
const (
	workingMost  = 8
	watchingMost = 32
	sendingMost  = 4
)

// requestTime is how long the answer to a request may take, streams and downloads aside.
const requestTime = 20 * time.Second

// New returns a handler on a database of this program, which must stay open as long as the handler
// is used.
func New(db *stoat.DB, o *Options) *Handler { return newHandler(opened{db}, o) }

// Follow returns a handler on the database in dir, which other processes may write meanwhile:
// requests see a state that is about a second old, or older if opening the database takes long. It
// returns the error of opening the database, for which db are the options; ReadOnly is implied. The
// caller must close the handler.
func Follow(dir string, db *stoat.Options, o *Options) (*Handler, error) {
	f, err := follow(dir, db)
	if err != nil {
		return nil, err
	}
	return newHandler(f, o), nil
}

func newHandler(s source, o *Options) *Handler {
	if o == nil {
		o = new(Options)
	}
	return &Handler{
		source: s, write: o.Write && !s.follows(), allow: o.Allow, started: time.Now(),
		routes: routes(), files: page.Handler(), sessions: newSessions(),
		working:  make(chan struct{}, workingMost),
		watching: make(chan struct{}, watchingMost),
		sending:  make(chan struct{}, sendingMost),
		large:    make(chan struct{}, 1),
	}
}

// Close releases what the handler itself has opened; what requests in progress use, at their end.
// A database given to [New] stays open.
func (h *Handler) Close() error { return h.source.close() }

// NewToken returns a new token for one session, and voids the one before it. The page takes it from
// the fragment of its address: http://127.0.0.1:8080/#token=TOKEN.
func (h *Handler) NewToken() string { return h.sessions.newToken() }

// ServeHTTP answers a request for the page, its files, or the API.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	name := strings.TrimPrefix(r.URL.Path, "/")
	endpoint, isAPI := strings.CutPrefix(name, "api/")
	if err := h.admit(r, isAPI); err != nil {
		fail(w, err)
		return
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case isAPI:
		h.serveAPI(w, r, endpoint)
	case r.URL.Path == "" && !strings.HasSuffix(path, "/"): // relative addresses need the slash
		w.Header().Set("Location", "/"+strings.TrimLeft(path, "/")+"/")
		w.WriteHeader(http.StatusPermanentRedirect)
	default:
		h.files.ServeHTTP(w, r)
	}
}

// view runs fn in a read-only transaction of the database.
func (h *Handler) view(ctx context.Context, fn func(tx *stoat.Tx) error) error {
	return h.use(ctx, func(db *stoat.DB) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return db.View(fn)
	})
}

// use calls fn with the database, which stays open meanwhile.
func (h *Handler) use(ctx context.Context, fn func(db *stoat.DB) error) error {
	db, release, err := h.source.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return fn(db)
}
