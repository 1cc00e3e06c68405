package s3

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/stoatdb/stoat/remote/objstore"
)

// conditionless is a network that drops the condition of requests, as some servers ignore it.
type conditionless struct{}

func (conditionless) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("If-None-Match")
	return http.DefaultTransport.RoundTrip(r)
}

func TestProbe_refusesAServerThatIgnoresTheCondition(t *testing.T) {
	err := objstore.Probe(t.Context(), newStore(t, conditionless{}))
	if !errors.Is(err, objstore.ErrUnfit) {
		t.Error(err)
	}
}

// A console marks folders by objects whose names end with a slash.
func TestList_leavesOutForeignObjects(t *testing.T) {
	s := newStore(t, nil)
	for _, key := range []string{"state/", "state/README", "state/7"} {
		_, err := s.client.PutObject(t.Context(), testBucket, testPrefix+key, strings.NewReader("x"), 1,
			minio.PutObjectOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	listed, err := s.List(t.Context(), "state/", "", 1)
	if err != nil || len(listed) != 1 || listed[0].Name != "state/7" {
		t.Errorf("listed are %v: %v", listed, err)
	}
}

// busy is a network whose server refuses each request once, and counts those that store something.
type busy struct {
	refused map[string]bool
	puts    int
}

func (b *busy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut {
		b.puts++
	}
	if request := r.Method + r.URL.String(); !b.refused[request] {
		b.refused[request] = true
		return failure([]int{0, http.StatusServiceUnavailable}[len(b.refused)%2])
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Busy servers refuse requests now and then: a restore must not fail because of one of thousands.
func TestStore_repeatsRequestsThatOnlyRead(t *testing.T) {
	s := newStore(t, nil)
	if err := s.Create(t.Context(), "log/1", []byte("x")); err != nil {
		t.Fatal(err)
	}
	network := &busy{refused: map[string]bool{}}
	refused := opened(t, s.client.EndpointURL().Host, testPrefix, network)
	if got, err := refused.Get(t.Context(), "log/1", 0, -1); err != nil || string(got) != "x" {
		t.Errorf("read %q: %v", got, err)
	}
	for _, prefix := range []string{"log/", "state/"} {
		if _, err := refused.List(t.Context(), prefix, "", 10); err != nil {
			t.Errorf("list %s: %v", prefix, err)
		}
	}
	err := refused.Create(t.Context(), "log/2", nil)
	if !errors.Is(err, objstore.ErrUnknown) || network.puts != 1 {
		t.Errorf("created with %d requests: %v", network.puts, err)
	}
}

// unreliable is a network that loses requests and answers, and reports conflicts, at random.
type unreliable struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (u *unreliable) RoundTrip(r *http.Request) (*http.Response, error) {
	u.mu.Lock()
	fate := u.rng.IntN(8)
	u.mu.Unlock()
	if r.Method == http.MethodPut && fate < 3 {
		return failure([]int{0, http.StatusConflict, http.StatusServiceUnavailable}[fate])
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPut || fate > 4 {
		return response, err
	}
	_ = response.Body.Close()
	return failure([]int{0, http.StatusBadGateway}[fate-3])
}

// failure is an answer with a status, or none if that is 0.
func failure(status int) (*http.Response, error) {
	if status == 0 {
		return nil, errCut
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}, nil
}

// Clients that follow the contract agree on who has created an object, whatever the network does.
func TestCreate_hasOneWinnerOnAnUnreliableNetwork(t *testing.T) {
	const names, clients = 50, 4
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newStore(t, nil)
	flaky := opened(t, s.client.EndpointURL().Host, testPrefix,
		&unreliable{rng: rand.New(rand.NewPCG(seed, 1))})
	var won [names][clients]bool
	var all sync.WaitGroup
	for n := range names {
		for c := range clients {
			all.Go(func() {
				won[n][c] = settled(t, flaky, fmt.Sprintf("log/%d", n), fmt.Sprintf("client %d", c))
			})
		}
	}
	all.Wait()
	for n := range names {
		name := fmt.Sprintf("log/%d", n)
		body, err := s.Get(t.Context(), name, 0, -1)
		if err != nil {
			t.Fatal(err)
		}
		for c, w := range won[n] {
			if w != (string(body) == fmt.Sprintf("client %d", c)) {
				t.Errorf("%s holds %q, and client %d has won: %t", name, body, c, w)
			}
		}
	}
}

// settled creates an object until the outcome is known, and reports whether it is the client's.
func settled(t *testing.T, s *Store, name, body string) bool {
	for {
		err := s.Create(t.Context(), name, []byte(body))
		switch {
		case err == nil:
			return true
		case errors.Is(err, objstore.ErrExists):
			got, err := s.Get(t.Context(), name, 0, -1)
			if err != nil {
				t.Error(err)
			}
			return string(got) == body
		case !errors.Is(err, objstore.ErrUnknown):
			t.Error(err)
			return false
		}
	}
}

// refusing is a network whose server refuses everything.
type refusing struct {
	status int
	code   string
}

func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	text := "<Error><Code>" + r.code + "</Code><Message>No.</Message></Error>"
	return &http.Response{
		StatusCode: r.status, Header: http.Header{"Content-Type": {"application/xml"}},
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// A refusal that lasts is one for want of rights, and not for what passes by itself.
func TestStore_tellsARefusalThatLasts(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		lasts  bool
	}{
		{http.StatusForbidden, "AccessDenied", true},
		{http.StatusForbidden, "InvalidAccessKeyId", true},
		{http.StatusForbidden, "SignatureDoesNotMatch", true},
		{http.StatusUnauthorized, "Unauthorized", true},
		{http.StatusForbidden, "RequestTimeTooSkewed", false},
		{http.StatusBadRequest, "ExpiredToken", false},
		{http.StatusForbidden, "ExpiredToken", false},
		{http.StatusForbidden, "InvalidTokenId", false},
		{http.StatusForbidden, "InvalidObjectState", false},
		{http.StatusServiceUnavailable, "SlowDown", false},
	} {
		s := opened(t, "127.0.0.1:1", testPrefix, refusing{c.status, c.code})
		_, get := s.Get(t.Context(), "log/1", 0, -1)
		_, list := s.List(t.Context(), "log/", "", 1)
		for request, err := range map[string]error{
			"get": get, "list": list, "create": s.Create(t.Context(), "log/1", nil),
			"put":    s.Put(t.Context(), "log/1", strings.NewReader(""), 0),
			"delete": s.Delete(t.Context(), []string{"log/1"}),
		} {
			if err == nil || errors.Is(err, objstore.ErrDenied) != c.lasts {
				t.Errorf("%d %s: %s ends with %v", c.status, c.code, request, err)
			}
		}
	}
}
