// Command failover shows a database in object storage that survives its writer, and ends by itself:
//
//	go run ./examples/failover
//
// It starts a server of S3, and four processes that share nothing but its bucket: a writer, two
// readers that follow it, and a standby. It kills the writer in the midst of commits and has the
// standby take over. Every commit that was acknowledged is there, and the readers go on.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// commits is how many commits each writer makes before something happens to it.
const commits = 20

func main() {
	err := play(context.Background())
	if len(os.Args) < 2 {
		err = demonstrate(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "failover:", err)
		os.Exit(1)
	}
}

// serve starts a server with an empty bucket, and returns its address.
func serve() (address string, err error) {
	objects := s3mem.New()
	if err := objects.CreateBucket(bucket); err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{
		Handler:           gofakes3.New(objects, gofakes3.WithLogger(gofakes3.DiscardLog())).Server(),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = server.Serve(listener) }() // ends with the process
	return listener.Addr().String(), nil
}

// cast is the processes.
type cast struct {
	writer, standby, first, second *actor
}

// start starts the processes, which use a server and a folder.
func start(out io.Writer, address, dir string) (c cast, err error) {
	for _, a := range []struct {
		as   **actor
		name string
		args []string
	}{
		{&c.writer, "writer", []string{roleWriter, address, filepath.Join(dir, "writer")}},
		{&c.standby, "standby", []string{roleStandby, address, filepath.Join(dir, "standby")}},
		{&c.first, "reader 1", []string{roleReader, address}},
		{&c.second, "reader 2", []string{roleReader, address}},
	} {
		if *a.as, err = newActor(out, a.name, a.args...); err != nil {
			return c, err
		}
		if a.as == &c.writer {
			_, err = c.writer.await(wordCommitted, 1) // there is a database to follow
		} else {
			_, err = (*a.as).await(wordSees, 1)
		}
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

// end ends the processes that still run.
func (c cast) end() {
	for _, a := range []*actor{c.writer, c.standby, c.first, c.second} {
		if a != nil {
			a.kill()
		}
	}
}

// demonstrate plays the scene.
func demonstrate(out io.Writer) error {
	dir, err := os.MkdirTemp("", "failover")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	address, err := serve()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a server of S3 listens at %s\n", address)
	c, err := start(out, address, dir)
	defer c.end()
	if err != nil {
		return err
	}
	acknowledged, err := c.writer.await(wordCommitted, commits)
	if err != nil {
		return err
	}
	acknowledged = max(acknowledged, c.writer.kill())
	fmt.Fprintf(out, "the writer is killed; it had acknowledged %d commits\n", acknowledged)
	if err := c.standby.tell(wordTakeOver); err != nil {
		return err
	}
	found, err := c.standby.await(wordTookOver, 1)
	if err != nil {
		return err
	}
	if found < acknowledged {
		return fmt.Errorf("%d commits were acknowledged, and there are %d", acknowledged, found)
	}
	fmt.Fprintf(out, "the standby is the writer, and has %d commits\n", found)
	for _, reader := range []*actor{c.first, c.second} {
		seen, err := reader.await(wordSees, found+commits)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s sees commit %d, of the new writer\n", reader.name, seen)
	}
	return nil
}
