package studio

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// endpoints are asked where each of them must answer alike.
func endpoints() map[string]route {
	all := routes()
	delete(all, "session")
	return all
}

func TestToken_worksOnce(t *testing.T) {
	h := New(memory(t), nil)
	b := visit(t, h)
	token := h.NewToken()
	ask := func(token string) (int, string) {
		return b.post("session", map[string]string{"token": token})
	}
	for _, wrong := range []string{"", "x", token[1:], token + "=", strings.ToLower(token)} {
		status, text := ask(wrong)
		refused(t, status, text, http.StatusUnauthorized, "new one")
	}
	status, text := b.ask("database")
	refused(t, status, text, http.StatusUnauthorized, "token")
	status, _ = ask(token)
	equal(t, status, http.StatusOK)
	get[databaseAnswer](b, "database")

	b.forget()
	status, text = ask(token)
	refused(t, status, text, http.StatusUnauthorized, "new one")
	status, text = b.ask("database")
	refused(t, status, text, http.StatusUnauthorized)
	old := h.NewToken()
	again := h.NewToken()
	status, _ = ask(old)
	equal(t, status, http.StatusUnauthorized)
	status, _ = ask(again)
	equal(t, status, http.StatusOK)
}

func TestToken_emptyIsNoneBeforeTheFirst(t *testing.T) {
	b := visit(t, New(memory(t), nil))
	status, text := b.post("session", map[string]string{})
	refused(t, status, text, http.StatusUnauthorized)
}

func TestSession_refusesALongRequest(t *testing.T) {
	b := visit(t, New(memory(t), nil))
	status, text := b.post("session", map[string]string{"token": strings.Repeat("x", openBodyMost)})
	refused(t, status, text, http.StatusBadRequest, "too large")
}

func TestSession_isInACookieOfThePathOnly(t *testing.T) {
	h := New(memory(t), nil)
	b := visit(t, h)
	b.header.Set("Content-Type", "application/json")
	answer := b.send(http.MethodPost, "api/session", strings.NewReader(`{"token":"`+h.NewToken()+`"}`))
	ok(t, answer.Body.Close())
	c := answer.Cookies()[0]
	if len(answer.Cookies()) != 1 || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode ||
		c.Path != "/here/api/" || len(c.Value) < 43 || c.MaxAge != 0 || c.Domain != "" {
		t.Errorf("the cookies are %v", answer.Cookies())
	}
	if other := New(memory(t), nil); other.sessions.cookie == c.Name {
		t.Error("another studio of the same host replaces the cookie")
	}
}

func TestSessions_keepTheNewest(t *testing.T) {
	s := newSessions()
	var secrets []string
	for range sessionsMost + 2 {
		secret, good := s.begin(s.newToken())
		equal(t, good, true)
		secrets = append(secrets, secret)
	}
	for i, secret := range secrets {
		equal(t, s.has(secret), i >= 2)
	}
	equal(t, s.has(""), false)
}

func TestGuard_endpointsNeedASession(t *testing.T) {
	b := visit(t, New(memory(t), &Options{Write: true}))
	for name, to := range endpoints() {
		b.header.Set("Content-Type", "application/json")
		status, text := b.read(b.send(to.method, "api/"+name, strings.NewReader("{}")))
		refused(t, status, text, http.StatusUnauthorized, "session")
	}
}

func TestGuard_refusesOtherHosts(t *testing.T) {
	b := browse(t, New(memory(t), nil))
	at, err := url.Parse(b.server.URL)
	ok(t, err)
	port := ":" + at.Port()
	for host, want := range map[string]int{
		"127.0.0.1" + port: 200, "localhost" + port: 200, "LOCALHOST" + port: 200, "[::1]" + port: 200,
		"127.8.9.1" + port:                          200,
		"evil.example" + port:                       403,
		"evil.example":                              403,
		"127.0.0.1":                                 403, // another port
		"127.0.0.1:1":                               403,
		"127.0.0.1.evil.example" + port:             403,
		"localhost.evil.example" + port:             403,
		"localhost." + port:                         403,
		"0.0.0.0" + port:                            403,
		"10.0.0.1" + port:                           403,
		"2130706433" + port:                         403,
		"evil.example:80@127.0.0.1" + port:          403,
		"[fe80::1]" + port:                          403,
		"[::ffff:10.0.0.1]" + port:                  403,
		"xn--localhost-" + strings.Repeat("x", 300): 403,
	} {
		b.header.Set("Host", host)
		for _, path := range []string{"", "api/database"} {
			answer := b.send(http.MethodGet, path, nil)
			status, text := b.read(answer)
			if status != want && !(status == http.StatusUnauthorized && want == 200) {
				t.Errorf("%q of host %q has status %d, want %d: %s", path, host, status, want, text)
			}
		}
	}
}

func TestGuard_refusesOtherOrigins(t *testing.T) {
	b := browse(t, New(memory(t), &Options{Write: true}))
	same := b.server.URL
	for _, c := range []struct {
		origin, site string
		want         int
	}{
		{"", "", 200}, {same, "", 200}, {same, "same-origin", 200}, {"", "same-origin", 200},
		{"https://evil.example", "", 403}, {"null", "", 403}, {same + "0", "", 403},
		{strings.Replace(same, "127.0.0.1", "localhost", 1), "", 403},
		{"http://evil.example@" + same[len("http://"):], "", 200}, // no browser sends it
		{same, "cross-site", 403}, {same, "same-site", 403}, {"", "none", 403}, {"", "cross-site", 403},
		{"%zz", "", 403},
	} {
		b.header = http.Header{}
		if c.origin != "" {
			b.header.Set("Origin", c.origin)
		}
		if c.site != "" {
			b.header.Set("Sec-Fetch-Site", c.site)
		}
		status, text := b.ask("database")
		if status != c.want {
			t.Errorf("origin %q, site %q: status %d, want %d: %s", c.origin, c.site, status, c.want, text)
		}
		status, _ = b.post("put", editRequest{Key: []byte("key")})
		equal(t, status, c.want)
	}
}

// A page that is opened from a terminal, a mail or another page loads, and shows nothing yet.
func TestGuard_letsThePageItselfLoadFromAnywhere(t *testing.T) {
	b := visit(t, New(memory(t), nil))
	for _, site := range []string{"none", "cross-site", "same-origin"} {
		b.header.Set("Sec-Fetch-Site", site)
		status, _ := b.read(b.send(http.MethodGet, "", nil))
		equal(t, status, http.StatusOK)
	}
}

func TestGuard_refusesForms(t *testing.T) {
	db := memory(t)
	b := browse(t, New(db, &Options{Write: true}))
	for _, kind := range []string{
		"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "",
		"text/plain; application/json", "application/jsonp",
	} {
		b.header.Set("Content-Type", kind)
		for _, name := range []string{"put", "delete", "session"} {
			answer := b.send(http.MethodPost, "api/"+name, strings.NewReader(`{"key":"a2V5"}`))
			status, text := b.read(answer)
			refused(t, status, text, http.StatusUnsupportedMediaType)
		}
	}
	b.header.Set("Content-Type", "application/json; charset=utf-8")
	status, text := b.read(b.send(http.MethodPost, "api/put", strings.NewReader(`{"key":"a2V5"}`)))
	if status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
}

func TestGuard_methodsAreThoseOfTheRoutes(t *testing.T) {
	b := browse(t, New(memory(t), &Options{Write: true}))
	b.header.Set("Content-Type", "application/json")
	for name, to := range endpoints() {
		other := http.MethodPost
		if to.method == other {
			other = http.MethodGet
		}
		for _, method := range []string{other, http.MethodPut, http.MethodOptions, http.MethodDelete} {
			answer := b.send(method, "api/"+name, nil)
			equal(t, answer.Header.Get("Allow"), to.method)
			status, text := b.read(answer)
			refused(t, status, text, http.StatusMethodNotAllowed)
		}
	}
	status, text := b.ask("nothing")
	refused(t, status, text, http.StatusNotFound)
}

func TestGuard_answersLetNothingElseIn(t *testing.T) {
	b := browse(t, New(memory(t), nil))
	for _, path := range []string{"", "studio.js", "api/database", "api/nothing", "missing"} {
		answer := b.send(http.MethodGet, path, nil)
		ok(t, answer.Body.Close())
		for name, want := range map[string]string{
			"Content-Security-Policy": contentPolicy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s of %q is %q, want %q", name, path, got, want)
			}
		}
		if got := answer.Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%q lets %s read", path, got)
		}
	}
}

func TestGuard_answersOnTheLoopbackInterfaceOnly(t *testing.T) {
	h := New(memory(t), nil)
	w := httptest.NewRecorder() // as on another interface: the server names no address of this one
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil))
	refused(t, w.Code, w.Body.String(), http.StatusForbidden, "loopback")
}

func TestAllow_decidesInsteadOfSessions(t *testing.T) {
	h := New(memory(t), &Options{
		Allow: func(r *http.Request) bool { return r.Header.Get("User") == "ann" },
	})
	ask := func(user, origin string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "http://studio.example/api/database", nil)
		r.Header.Set("User", user)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	equal(t, ask("ann", "https://studio.example").Code, http.StatusOK)
	equal(t, ask("bob", "https://studio.example").Code, http.StatusForbidden)
	equal(t, ask("ann", "https://evil.example").Code, http.StatusForbidden)
}

func TestHandler_redirectsToItsPath(t *testing.T) {
	b := visit(t, New(memory(t), nil))
	answer, err := b.client.Get(b.server.URL + "/here?x")
	ok(t, err)
	ok(t, answer.Body.Close())
	equal(t, answer.StatusCode, http.StatusPermanentRedirect)
	equal(t, answer.Header.Get("Location"), "/here/")
}
