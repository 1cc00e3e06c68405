package remote

import (
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/stoatdb/stoat/bench/peer"
)

// ServerArgument is the argument that makes the benchmark a server of objects in memory.
const ServerArgument = "objects"

// bucket is the only bucket of the server.
const bucket = "bench"

// Server is the main function of a server. It answers the first request with its address, and ends
// with the requests.
func Server(in io.Reader, out io.Writer) error {
	backend := s3mem.New()
	if err := backend.CreateBucket(bucket); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	quiet := gofakes3.WithLogger(gofakes3.DiscardLog())
	server := &http.Server{
		Handler:           gofakes3.New(backend, quiet).Server(),
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func() { _ = server.Serve(l) }() // ends with the process
	return peer.Serve(in, out, func(*request) answer { return answer{Address: l.Addr().String()} })
}
