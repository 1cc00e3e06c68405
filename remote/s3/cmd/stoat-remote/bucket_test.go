package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// bucket is a server of buckets in the process.
type bucket struct {
	url      string // of a store in it
	requests atomic.Int64
	each     atomic.Pointer[func(n int64, r *http.Request)] // called before the n-th request
}

// newBucket returns a server with one bucket. The environment has credentials for it.
func newBucket(t *testing.T) *bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	backend := s3mem.New()
	ok(t, backend.CreateBucket("shop"))
	b, inner := &bucket{}, gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := b.requests.Add(1)
		if each := b.each.Load(); each != nil {
			(*each)(n, r)
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.url = "s3://shop/db/a?insecure=true&endpoint=" + strings.TrimPrefix(server.URL, "http://")
	return b
}

func TestBucket_takesAllCommands(t *testing.T) {
	b := newBucket(t)
	dir := newDB(t, 10)
	output(t, "probe", b.url)
	output(t, "init", dir, b.url)
	contains(t, output(t, "status", b.url), "commit 10 ")
	output(t, "verify", "-deep", b.url)
	output(t, "pin", b.url, "a")
	contains(t, output(t, "pins", b.url), "a")
	output(t, "unpin", b.url, "a")
	if got := output(t, "get", b.url, "key003"); got != "value3" {
		t.Errorf("got %q", got)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	output(t, "restore", b.url, copied)
	wantKeys(t, copied, 10)
	output(t, "gc", dir, b.url)
}

func TestBucket_mistakesSayWhatToDo(t *testing.T) {
	b := newBucket(t)
	dir := newDB(t, 1)
	wrong := strings.Replace(b.url, "shop", "none", 1)
	for _, args := range [][]string{
		{"probe", wrong}, {"status", wrong}, {"init", dir, wrong}, {"verify", wrong}, {"pins", wrong},
	} {
		fails(t, exitError, args, "create the bucket first")
	}
	fails(t, exitError, []string{"status", "s3://shop?insecure=true&endpoint=127.0.0.1:1"},
		"check the endpoint")
	fails(t, exitNotFound, []string{"status", b.url}, "no database")
}

func TestProbe_refusesAServerThatOverwrites(t *testing.T) {
	b := newBucket(t)
	each := func(_ int64, r *http.Request) { r.Header.Del("If-None-Match") }
	b.each.Store(&each)
	fails(t, exitDamaged, []string{"probe", b.url}, "unfit", "overwrites")
}

// An interrupt after any number of requests does no harm.
func TestInterrupt_ofInit(t *testing.T) {
	for _, after := range []int64{1, 3, 5, 7} {
		b := newBucket(t)
		dir := newDB(t, 10)
		ctx, interrupt := context.WithCancel(t.Context())
		each := func(n int64, _ *http.Request) {
			if n == after {
				interrupt()
			}
		}
		b.each.Store(&each)
		r := execute(ctx, "init", dir, b.url)
		interrupt()
		if r.code != exitInterrupted && r.code != exitOK || after == 1 && r.code == exitOK {
			t.Errorf("after %d requests: exit code %d, %s", after, r.code, r.err)
		}
		output(t, "init", dir, b.url)
		output(t, "verify", "-deep", b.url)
		contains(t, output(t, "status", b.url), "commit 10 ")
	}
}
