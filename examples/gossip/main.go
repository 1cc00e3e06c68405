// Command gossip replicates a log of signed messages from one database to another, as it grows.
//
//	go run ./examples/gossip -n 100000 -dir /tmp/gossip
//
// Several authors publish messages in the first database, each in a chain of its own: a message
// contains the hash of the previous one and is signed, as in Secure Scuttlebutt. The second
// database follows, and accepts only the next message of each chain. It is closed halfway, and then
// continues where it stopped. Each time it shows what it has, by author and by type.
//
// The program shows a feed with two sublogs, the newest entry of an address, and a live query as a
// way to wait for more entries. The messages and the log are in log.go.
package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"

	"github.com/stoatdb/stoat"
)

func main() {
	n := flag.Uint64("n", 100_000, "messages")
	dir := flag.String("dir", "gossip.db", "directory for both databases")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *dir, *n, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gossip:", err)
		os.Exit(1)
	}
}

// run publishes n messages and replicates them.
func run(ctx context.Context, dir string, n uint64, out io.Writer) (err error) {
	original, err := openLog(filepath.Join(dir, "original"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, original.db.Close()) }()
	ctx, stop := context.WithCancelCause(ctx)
	var publisher sync.WaitGroup
	defer publisher.Wait()
	defer stop(nil)
	publisher.Go(func() {
		if err := publish(ctx, original, n); err != nil {
			stop(err)
		}
	})
	for _, until := range []uint64{n / 2, n} {
		err := follow(ctx, original, filepath.Join(dir, "copy"), until, out)
		if err != nil {
			return cmp.Or(context.Cause(ctx), err)
		}
	}
	return nil
}

// publish publishes n messages of several authors, a few in each commit.
func publish(ctx context.Context, l *messageLog, n uint64) error {
	const authors, few = 20, 100
	var keys []ed25519.PrivateKey
	for i := range authors { // predictable keys, so that all runs are the same
		seed := sha256.Sum256(fmt.Appendf(nil, "author %d", i))
		keys = append(keys, ed25519.NewKeyFromSeed(seed[:]))
	}
	for first := uint64(0); first < n && ctx.Err() == nil; first += few {
		err := l.db.Update(func(tx *stoat.Tx) error {
			for i := first; i < min(first+few, n); i++ {
				kind := []string{"post", "post", "vote", "contact"}[i%4]
				text := fmt.Sprintf("This is message %d.", i)
				if err := l.publish(tx, keys[i/3%authors], kind, text); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow opens the copy, replicates until it has n messages, shows it, and closes it.
func follow(
	ctx context.Context, original *messageLog, dir string, n uint64, out io.Writer,
) (err error) {
	copied, err := openLog(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.db.Close()) }()
	if err := replicate(ctx, original, copied, n); err != nil {
		return err
	}
	fmt.Fprintf(out, "the copy has %d messages\n", n)
	return copied.show(out)
}

// replicate copies messages as they are published, until there are n. It may be interrupted at any
// time: the copy itself shows where to continue.
func replicate(ctx context.Context, from, to *messageLog, n uint64) error {
	for {
		next, err := to.length()
		if err != nil || next >= n {
			return err
		}
		messages, err := from.page(ctx, next, n)
		if err != nil {
			return err
		}
		if err := to.accept(messages); err != nil {
			return err
		}
	}
}
