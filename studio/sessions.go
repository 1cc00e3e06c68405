package studio

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

const (
	secretBytes = 32
	// sessionsMost is how many sessions there may be. A new one ends the oldest.
	sessionsMost = 16
)

// sessions are who may use a handler: giving a token begins one, kept in a cookie. It is
// safe for concurrent use.
type sessions struct {
	cookie string // its name, which differs between handlers: all ports of a host share cookies

	mu     sync.Mutex
	token  string   // that is good for one session; empty for none
	secret []string // of each session, the oldest first
}

func newSessions() *sessions {
	var id [8]byte
	fillRandom(id[:])
	return &sessions{cookie: "stoat-" + hex.EncodeToString(id[:])}
}

// newSecret returns a text that nobody can guess.
func newSecret() string {
	var p [secretBytes]byte
	fillRandom(p[:])
	return base64.RawURLEncoding.EncodeToString(p[:])
}

// fillRandom fills p with random bytes.
func fillRandom(p []byte) { _, _ = rand.Read(p) } // which never fails

func (s *sessions) newToken() string {
	token := newSecret()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
	return token
}

// begin returns the secret of a new session for a token, which is void then; ok is false if it is
// not the token.
func (s *sessions) begin(token string) (secret string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || !equalSecrets(token, s.token) {
		return "", false
	}
	s.token = ""
	if len(s.secret) == sessionsMost {
		s.secret = s.secret[1:]
	}
	secret = newSecret()
	s.secret = append(s.secret, secret)
	return secret, true
}

// has reports whether there is a session with a secret. It takes the same time for each.
func (s *sessions) has(secret string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := false
	for _, known := range s.secret {
		found = equalSecrets(secret, known) || found
	}
	return found
}

func equalSecrets(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// authenticate returns an error unless a request belongs to a session.
func (h *Handler) authenticate(r *http.Request) error {
	if h.allow != nil { // it has decided
		return nil
	}
	for _, c := range r.CookiesNamed(h.sessions.cookie) {
		if h.sessions.has(c.Value) {
			return nil
		}
	}
	return problemf(http.StatusUnauthorized, "there is no session: open the address with the token "+
		"that was printed; each works once, and the program prints a new one on request")
}

// session exchanges a token for a session, which the browser keeps in a cookie.
func (h *Handler) session(w http.ResponseWriter, r *http.Request) error {
	var request struct {
		Token string `json:"token"`
	}
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		return badf("the request is not JSON: %v", err)
	}
	secret, ok := h.sessions.begin(request.Token)
	if !ok {
		return problemf(http.StatusUnauthorized, "the token is wrong, or has been used: each works "+
			"once, and the program prints a new one on request")
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	http.SetCookie(w, &http.Cookie{
		Name: h.sessions.cookie, Value: secret, Path: strings.TrimSuffix(path, "session"),
		HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	return send(w, struct{}{})
}
