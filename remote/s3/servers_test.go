package s3

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

var servers = flag.Bool("servers", false, "install real servers, and test the store on them")

// installed returns the path of a server's program, or skips the test.
func installed(t *testing.T, name string) string {
	t.Helper()
	if !*servers {
		t.Skip("needs -servers")
	}
	out, err := exec.CommandContext(t.Context(), "servers/install", name).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Skipf("%s cannot be installed: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// freeAddress returns an address where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// started starts a server until the end of the test, and returns when it has said that it listens.
func started(t *testing.T, listens string, command ...string) {
	t.Helper()
	server := exec.Command(command[0], command[1:]...)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr = server.Stdout
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan string)
	go func() {
		var said strings.Builder
		lines, heard := bufio.NewScanner(out), false
		for lines.Scan() {
			if said.Len() < 1<<16 {
				fmt.Fprintln(&said, lines.Text())
			}
			if !heard && strings.Contains(lines.Text(), listens) {
				heard = true
				close(ready)
			}
		}
		ended <- said.String()
	}()
	select {
	case <-ready:
		t.Cleanup(func() {
			_ = server.Process.Kill()
			said := <-ended
			_ = server.Wait()
			if t.Failed() {
				t.Log(said)
			}
		})
	case said := <-ended:
		t.Fatalf("%s: %v\n%s", command[0], server.Wait(), said)
	case <-time.After(time.Minute):
		_ = server.Process.Kill()
		t.Fatalf("%s does not listen: %s", command[0], <-ended)
	}
}

func TestServers_versitygw(t *testing.T) {
	program := installed(t, "versitygw")
	address := freeAddress(t)
	started(t, "http://"+address, program, "--port", address, "--access", testKey, "--secret",
		testSecret, "posix", t.TempDir())
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
	t.Logf("trust: %d requests to servers of object storage", network.requests.Load())
}

// counting is a transport that counts requests.
type counting struct{ requests atomic.Int64 }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}
