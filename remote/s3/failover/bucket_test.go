package failover

import (
	"flag"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoatdb/stoat/remote/s3/internal/server"
)

var servers = flag.Bool("servers", false, "install a real server, and use that")

// newServer returns the address of a server with the bucket of the tests.
func newServer(t *testing.T) (address string) {
	t.Helper()
	if *servers {
		return newGateway(t).address
	}
	s := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
	t.Cleanup(s.Close)
	address = strings.TrimPrefix(s.URL, "http://")
	makeBucket(t, address)
	return address
}

// gateway is versitygw, a server of its own, with the bucket of the tests.
type gateway struct {
	address string
	command []string
	process *server.Process
}

// newGateway installs and starts the server, until the end of the test.
func newGateway(t *testing.T) *gateway {
	t.Helper()
	address := server.FreeAddress(t)
	g := &gateway{address: address, command: []string{
		server.Installed(t, "versitygw"), "--port", address, "--access", testKey, "--secret", testSecret,
		"posix", t.TempDir(),
	}}
	g.start(t)
	makeBucket(t, address)
	return g
}

// start starts the server, also again once it was killed.
func (g *gateway) start(t *testing.T) { g.process = server.Start(t, g.address, g.command...) }

// makeBucket makes the bucket of the tests.
func makeBucket(t *testing.T, address string) {
	t.Helper()
	client, err := minio.New(address, &minio.Options{
		Creds: credentials.NewStaticV4(testKey, testSecret, ""), Region: testRegion,
	})
	ok(t, err)
	ok(t, client.MakeBucket(t.Context(), testBucket, minio.MakeBucketOptions{Region: testRegion}))
}
