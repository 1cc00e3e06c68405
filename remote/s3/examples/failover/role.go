package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/s3"
)

const bucket = "bucket"

// The roles of processes: writer ADDRESS DIR, standby ADDRESS DIR, reader ADDRESS.
const (
	roleWriter  = "writer"
	roleStandby = "standby"
	roleReader  = "reader"
)

// What processes say, with a number behind it and a full stop, so that a line that a kill has cut
// off is none. The standby is told to take over.
const (
	wordCommitted = "committed"
	wordSees      = "sees commit"
	wordTookOver  = "took over at commit"
	wordTakeOver  = "take over"
)

// counter is the key of the number of the newest commit.
const counter = "counter"

// play plays the role that the arguments name, if they do.
func play(ctx context.Context) error {
	if len(os.Args) < 3 {
		return nil
	}
	store, err := s3.Open(s3.Options{
		Endpoint: os.Args[2], Insecure: true, Region: "us-east-1", Bucket: bucket,
		Credentials: credentials.NewStaticV4("key", "secret", ""),
	})
	if err != nil {
		return err
	}
	waiting := &remote.Options{Durability: remote.Wait, Writer: os.Args[1]}
	if os.Args[1] == roleWriter {
		db, err := remote.Open(ctx, store, os.Args[3], waiting)
		if err != nil {
			return err
		}
		return write(db, 1)
	}
	r, err := remote.OpenReader(ctx, store, "", &remote.ReaderOptions{Poll: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	if os.Args[1] == roleReader {
		return watch(ctx, r)
	}
	return standBy(ctx, r, os.Args[3], waiting)
}

// write commits numbers until the process is killed. Each is acknowledged once the store has it.
func write(db *remote.DB, from int) error {
	for n := from; ; n++ {
		if err := db.Put([]byte(counter), fmt.Append(nil, n)); err != nil {
			return err
		}
		fmt.Printf("%s %d.\n", wordCommitted, n)
	}
}

// newest returns the number of the newest commit that a database shows.
func newest(db *stoat.DB) (n int, err error) {
	value, err := db.Get([]byte(counter))
	if errors.Is(err, stoat.ErrNotFound) {
		return 0, nil
	}
	if err == nil {
		_, err = fmt.Sscan(string(value), &n)
	}
	return n, err
}

// watch says what a reader sees, until the process is killed.
func watch(ctx context.Context, r *remote.Reader) error {
	for seen := 0; ; {
		n, err := newest(r.DB)
		if err != nil {
			return err
		}
		if n > seen {
			seen = n
			fmt.Printf("%s %d.\n", wordSees, n)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// standBy follows until it is told to take over, and then writes.
func standBy(ctx context.Context, r *remote.Reader, dir string, o *remote.Options) error {
	n, err := newest(r.DB)
	if err != nil {
		return err
	}
	fmt.Printf("%s %d.\n", wordSees, n)
	for told := bufio.NewScanner(os.Stdin); told.Scan() && told.Text() != wordTakeOver; {
	}
	db, err := r.TakeOver(ctx, dir, o)
	if err != nil {
		return err
	}
	if n, err = newest(db.DB); err != nil {
		return err
	}
	fmt.Printf("%s %d.\n", wordTookOver, n)
	return write(db, n+1)
}
