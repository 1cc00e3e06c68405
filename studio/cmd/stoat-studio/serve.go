package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/stoatdb/stoat/studio"
)

// show serves the studio until the context ends.
func show(
	ctx context.Context, o *options, at *loopback, stdin io.Reader, stdout, stderr io.Writer,
) error {
	h, closeAll, err := openStudio(o)
	if err != nil {
		return err
	}
	l, err := at.open()
	if err != nil {
		return errors.Join(err, closeAll())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := newServing(h, l, at.host, stdout)
	what := "read-only"
	if o.write {
		what = "for writing"
	}
	fmt.Fprintf(stdout, "%s is open %s at this address, which works once:\n\n", o.db, what)
	s.invite()
	fmt.Fprint(stdout, "\nPress Enter for a new address, Ctrl-C to end.\n")
	go s.inviteForLines(stdin)
	return errors.Join(s.run(ctx, l, log.New(stderr, "stoat-studio: ", 0)), closeAll())
}

// serving is a studio at an address.
type serving struct {
	studio *studio.Handler
	base   string // the address, with a slash at its end
	prefix string // the path in it
	out    io.Writer
}

// newServing returns the studio at a path that nobody can guess: browsers send the cookies of a
// host to all of its ports, but only to the path that they are for.
func newServing(h *studio.Handler, l net.Listener, host string, out io.Writer) *serving {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // which never fails
	s := &serving{studio: h, out: out}
	s.prefix = "/" + base64.RawURLEncoding.EncodeToString(secret[:])
	_, port, _ := net.SplitHostPort(l.Addr().String()) // which has both
	s.base = "http://" + net.JoinHostPort(host, port) + s.prefix + "/"
	return s
}

// invite prints an address with a new token.
func (s *serving) invite() { fmt.Fprintf(s.out, "  %s#token=%s\n", s.base, s.studio.NewToken()) }

// inviteForLines prints a new address for each line of the input. It ends with the input.
func (s *serving) inviteForLines(in io.Reader) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		s.invite()
	}
}

// ServeHTTP hands requests for the path to the studio.
func (s *serving) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != s.prefix && !strings.HasPrefix(r.URL.Path, s.prefix+"/") {
		http.Error(w, "Not here: open the address that stoat-studio has printed.", http.StatusNotFound)
		return
	}
	http.StripPrefix(s.prefix, s.studio).ServeHTTP(w, r)
}

const (
	headerTime = 10 * time.Second // to send the header of a request
	idleTime   = 2 * time.Minute  // of a connection between requests
	endTime    = 2 * time.Second  // for requests in progress at the end
)

// run serves until the context ends, which is no error.
func (s *serving) run(ctx context.Context, l net.Listener, trouble *log.Logger) error {
	server := &http.Server{
		Handler: s, ErrorLog: trouble, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-ended
	return err
}
