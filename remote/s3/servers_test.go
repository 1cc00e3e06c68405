package s3

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
	"github.com/stoatdb/stoat/remote/s3/internal/server"
)

var servers = flag.Bool("servers", false, "install real servers, and test the store on them")

// installed returns the path of a server's program, or skips the test.
func installed(t *testing.T, name string) string {
	t.Helper()
	if !*servers {
		t.Skip("needs -servers")
	}
	return server.Installed(t, name)
}

func TestServers_versitygw(t *testing.T) {
	program := installed(t, "versitygw")
	address := server.FreeAddress(t)
	server.Start(t, address, program, "--port", address, "--access", testKey, "--secret",
		testSecret, "posix", t.TempDir())
	conforms(t, address)
}

func TestServers_minio(t *testing.T) {
	program := installed(t, "minio")
	address := server.FreeAddress(t)
	t.Setenv("MINIO_ROOT_USER", testKey)
	t.Setenv("MINIO_ROOT_PASSWORD", testSecret)
	server.Start(t, address, program, "server", "--quiet", "--address", address, "--console-address",
		server.FreeAddress(t), t.TempDir())
	conforms(t, address)
}

// Ceph's gateway has a cluster behind it, so requests that race meet in other processes.
func TestServers_radosgw(t *testing.T) {
	program := installed(t, "radosgw")
	address := server.FreeAddress(t)
	server.Start(t, address, program, address, server.FreeAddress(t), testKey, testSecret, t.TempDir())
	conforms(t, address)
}

// conforms tests the store on a server, and logs how many requests it took.
func conforms(t *testing.T, address string) {
	t.Helper()
	network := &counting{}
	prefixes := 0
	newStore := func(t *testing.T) objstore.Store {
		t.Helper()
		prefixes++
		return opened(t, address, fmt.Sprintf("check-%d/", prefixes), network)
	}
	s := opened(t, address, "", network)
	// The server says that it listens shortly before it does. The client pauses after a failure.
	for tries := 1; ; tries++ {
		err := s.client.MakeBucket(t.Context(), testBucket, minio.MakeBucketOptions{})
		if err == nil {
			break
		}
		if tries == 50 {
			t.Fatal(err)
		}
	}
	remotetest.Run(t, newStore)
	if err := objstore.Probe(t.Context(), newStore(t)); err != nil {
		t.Error(err)
	}
	refusesDamage(t, address)
	t.Logf("trust: %d requests to servers of object storage", network.requests.Load())
}

// refusesDamage wants a server to store no body that was damaged on its way.
func refusesDamage(t *testing.T, address string) {
	t.Helper()
	s := opened(t, address, "damaged/", damaging{})
	body := bytes.Repeat([]byte("body "), 50_000)
	if err := s.Create(t.Context(), "created", body); err == nil {
		t.Error("Create: the server has stored a damaged body")
	}
	if err := s.Put(t.Context(), "put", bytes.NewReader(body), int64(len(body))); err == nil {
		t.Error("Put: the server has stored a damaged body")
	}
	if listed, err := s.List(t.Context(), "", "", 1); err != nil || len(listed) > 0 {
		t.Errorf("the server lists %v, %v", listed, err)
	}
}

// damaging is a transport that flips a bit in the middle of each body.
type damaging struct{}

func (damaging) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body[len(body)/2] ^= 1
	damaged := r.Clone(r.Context())
	damaged.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(damaged)
}

// counting is a transport that counts requests.
type counting struct{ requests atomic.Int64 }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}
