package s3

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
)

// A log is read by many requests at a time, in rounds, and a connection takes some round trips.
func TestGet_usesConnectionsAgain(t *testing.T) {
	const atATime, rounds = 64, 4
	var made, waiting atomic.Int64
	inner := gofakes3.New(s3mem.New()).Server()
	all := make(chan struct{}, atATime)
	server := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && waiting.Add(1)%atATime == 0 {
				for range atATime {
					all <- struct{}{}
				}
			}
			if r.Method == http.MethodGet {
				<-all // of a round
			}
			inner.ServeHTTP(w, r)
		}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	s := opened(t, strings.TrimPrefix(server.URL, "http://"), testPrefix, nil)
	if err := s.client.MakeBucket(t.Context(), testBucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range atATime {
		if err := s.Create(t.Context(), fmt.Sprintf("log/%d", i), []byte("object")); err != nil {
			t.Fatal(err)
		}
	}
	for range rounds {
		var running sync.WaitGroup
		for i := range atATime {
			running.Go(func() {
				if _, err := s.Get(t.Context(), fmt.Sprintf("log/%d", i), 0, 100); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
	}
	if n := made.Load(); n > atATime+1 {
		t.Errorf("%d connections were made for %d rounds of %d requests", n, rounds, atATime)
	}
}
