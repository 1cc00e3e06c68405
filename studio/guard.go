package studio

import (
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// What a page of another site can do in the user's browser is send requests, and read the answers
// if it can make the browser believe that they come from its own site (DNS rebinding). So the name
// that a request is for must be one of this machine, what the browser says about its origin must be
// this page, and what changes something must be JSON, which a form cannot send.

// contentPolicy lets the page load and run what the handler serves, and nothing else.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'"

// protect sets the headers that every answer has.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// admit returns an error unless a request may come from the page, or may load it.
func (h *Handler) admit(r *http.Request, isAPI bool) error {
	if h.allow == nil {
		if err := local(r); err != nil {
			return err
		}
	} else if !h.allow(r) {
		return problemf(http.StatusForbidden, "the program does not allow this request")
	}
	return sameOrigin(r, isAPI)
}

// local returns an error unless a request came over the loopback interface, to a name of it.
func local(r *http.Request) error {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return problemf(http.StatusForbidden, "the studio answers on the loopback interface only: "+
			"listen on 127.0.0.1, or set Options.Allow")
	}
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host, port = strings.Trim(r.Host, "[]"), "80"
		if r.TLS != nil {
			port = "443"
		}
	}
	if !loopbackName(host) || port != strconv.Itoa(at.Port) {
		return problemf(http.StatusForbidden, "the studio is not at %.100q: use the address that was "+
			"printed", r.Host)
	}
	return nil
}

// loopbackName reports whether a host can only be this machine.
func loopbackName(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" && ip.IsLoopback()
}

// sameOrigin returns an error if the browser says that another site has sent a request. Loading the
// page itself may come from anywhere: it shows nothing without a session.
func sameOrigin(r *http.Request, isAPI bool) error {
	refused := problemf(http.StatusForbidden, "another site has sent this request")
	if origin := r.Header.Get("Origin"); origin != "" {
		from, err := url.Parse(origin)
		if err != nil || from.Host != r.Host {
			return refused
		}
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if isAPI && site != "" && site != "same-origin" {
		return refused
	}
	return nil
}

// The maximum size of a request, and of one without a session.
const (
	bodyMost     = 16 << 20
	openBodyMost = 4 << 10
)

// wantJSON returns an error unless the body of a request says that it is JSON.
func wantJSON(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return problemf(http.StatusUnsupportedMediaType, "send JSON, as application/json")
	}
	return nil
}
