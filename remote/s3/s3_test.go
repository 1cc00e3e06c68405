package s3

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

const (
	testBucket = "bucket"
	testKey    = "key"
	testSecret = "a secret"
	testPrefix = "databases/a/"
)

// opened returns the store in the bucket of a server.
func opened(t *testing.T, address, prefix string, transport http.RoundTripper) *Store {
	t.Helper()
	s, err := Open(Options{
		Endpoint: address, Insecure: true, Region: "us-east-1", Bucket: testBucket, Prefix: prefix,
		Transport: transport, Credentials: credentials.NewStaticV4(testKey, testSecret, ""),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newStore returns a store in a server in the process.
func newStore(t *testing.T, transport http.RoundTripper) *Store {
	t.Helper()
	server := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(server.Close)
	s := opened(t, strings.TrimPrefix(server.URL, "http://"), testPrefix, transport)
	if err := s.client.MakeBucket(t.Context(), testBucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore_conforms(t *testing.T) {
	remotetest.Run(t, func(t *testing.T) objstore.Store { return newStore(t, nil) })
}

func TestStore_passesTheProbe(t *testing.T) {
	if err := objstore.Probe(t.Context(), newStore(t, nil)); err != nil {
		t.Error(err)
	}
}

// lossy is a transport that changes the fate of requests that store objects.
type lossy struct {
	puts int
	fate func(put int, send func() (*http.Response, error)) (*http.Response, error)
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	send := func() (*http.Response, error) { return http.DefaultTransport.RoundTrip(r) }
	if r.Method != http.MethodPut || l.fate == nil {
		return send()
	}
	l.puts++
	return l.fate(l.puts, send)
}

// digested is a transport that wants the signature of a body to cover its digest.
type digested struct {
	t    *testing.T
	puts int
}

func (d *digested) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/"+testBucket+"/"+testPrefix) {
		d.puts++
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		want := fmt.Sprintf("%x", sha256.Sum256(body))
		if got := r.Header.Get("X-Amz-Content-Sha256"); got != want {
			d.t.Errorf("the digest of %d bytes is %s, want %s", len(body), got, want)
		}
	}
	return http.DefaultTransport.RoundTrip(r)
}

func TestPut_signsTheDigestOfItsBody(t *testing.T) {
	network := &digested{t: t}
	s := newStore(t, network)
	for _, size := range []int{1, 100, 1 << 20} {
		body := bytes.Repeat([]byte{'b'}, size)
		name := fmt.Sprint(size)
		err := errors.Join(s.Create(t.Context(), "log/"+name, body),
			s.Put(t.Context(), "data/"+name, bytes.NewReader(body), int64(size)))
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if network.puts != 6 {
		t.Errorf("the client has stored %d objects, want 6", network.puts)
	}
}

var errCut = errors.New("connection reset")

func TestCreate_recognisesItsObjectAfterALostAnswer(t *testing.T) {
	network := &lossy{}
	s := newStore(t, network)
	network.fate = func(_ int, send func() (*http.Response, error)) (*http.Response, error) {
		if response, err := send(); err == nil {
			_ = response.Body.Close()
		}
		return nil, errCut
	}
	if err := s.Create(t.Context(), "log/1", []byte("ours")); err != nil {
		t.Error(err)
	}
	network.fate = nil
	err := s.Create(t.Context(), "log/1", []byte("other"))
	if !errors.Is(err, objstore.ErrExists) {
		t.Errorf("a second Create: %v", err)
	}
}

func TestCreate_knowsNothingOfALostRequest(t *testing.T) {
	for _, status := range []int{0, http.StatusConflict, 500, 503} {
		network := &lossy{}
		s := newStore(t, network)
		network.puts = 0
		network.fate = func(int, func() (*http.Response, error)) (*http.Response, error) {
			if status == 0 {
				return nil, errCut
			}
			recorder := httptest.NewRecorder()
			recorder.WriteHeader(status)
			return recorder.Result(), nil
		}
		err := s.Create(t.Context(), "log/1", []byte("ours"))
		if !errors.Is(err, objstore.ErrUnknown) || errors.Is(err, objstore.ErrExists) {
			t.Errorf("status %d: %v", status, err)
		}
		if network.puts != 1 {
			t.Errorf("status %d: the client has tried %d times", status, network.puts)
		}
	}
}

func TestCreate_knowsNothingIfAnotherObjectIsThere(t *testing.T) {
	network := &lossy{}
	s := newStore(t, network)
	if err := s.Create(t.Context(), "log/1", []byte("other")); err != nil {
		t.Fatal(err)
	}
	network.fate = func(int, func() (*http.Response, error)) (*http.Response, error) {
		return nil, errCut
	}
	if err := s.Create(t.Context(), "log/1", []byte("ours")); !errors.Is(err, objstore.ErrUnknown) {
		t.Errorf("with a lost request: %v", err)
	}
	network.fate = nil
	if err := s.Create(t.Context(), "log/1", []byte("ours")); !errors.Is(err, objstore.ErrExists) {
		t.Errorf("with an answer: %v", err)
	}
}

func TestRead_allocatesWhatIsExpectedOnce(t *testing.T) {
	const size = 1 << 20
	content := bytes.Repeat([]byte("stoat"), size/5)
	for _, expected := range []int64{int64(len(content)), -1, 3, math.MaxInt64} {
		p, err := read(bytes.NewReader(content), expected)
		if err != nil || !bytes.Equal(p, content) {
			t.Errorf("expecting %d: %d bytes, error %v", expected, len(p), err)
		}
	}
	allocations := testing.AllocsPerRun(10, func() {
		_, _ = read(bytes.NewReader(content), int64(len(content)))
	})
	if allocations > 2 { // the bytes, and the reader
		t.Errorf("%v allocations", allocations)
	}
}
