package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/replica"
)

// syncFlags are what a sync is like.
type syncFlags struct {
	live, post, fromCheckpoint bool
}

func syncCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	var f syncFlags
	flags.BoolVar(&f.live, "live", false, "stay connected, until interrupted")
	flags.BoolVar(&f.post, "post", false, "with a URL: use single requests, not a connection")
	flags.BoolVar(&f.fromCheckpoint, "from-checkpoint", false,
		"start from the checkpoint of the other side")
	return &command{
		Name: "sync", Arguments: "DB ADDRESS [DEVICE]", Summary: "give and take what is missing",
		Details: `
ADDRESS is the host and port of "stoat replica serve", and DEVICE the id of the
device that must answer there. Or it is the URL of a program that serves the
space over HTTP; then DEVICE may be left out. When it ends without an error, the
other side has everything that was written here. An interrupted sync does no
harm: the next one goes on from there.

With -from-checkpoint, a new replica takes fewer bytes and has no history, and
one that goes by another checkpoint goes over to that of the other side.`,
		Min: 2, Max: 3, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			web := strings.HasPrefix(args[1], "http://") || strings.HasPrefix(args[1], "https://")
			switch {
			case !web && len(args) < 3:
				return cmdline.Usagef("DEVICE is missing: \"stoat replica device\" shows it there")
			case f.post && (!web || f.live || f.fromCheckpoint):
				return cmdline.Usagef("-post needs a URL, and excludes -live and -from-checkpoint")
			}
			var peer replica.DeviceID
			if len(args) == 3 {
				var err error
				if peer, err = parseDevice(args[2]); err != nil {
					return err
				}
			}
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				return reportArrivals(s, space, db, func() error {
					err := f.sync(ctx, space, o.key, args[1], web, peer)
					if f.live && ctx.Err() != nil {
						return nil // an interrupt is how it ends
					}
					return adviseSync(err, args[1])
				})
			})
		},
	}
}

// adviseSync adds to an error what to check.
func adviseSync(err error, addr string) error {
	var op *net.OpError
	var plain tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	host := hostOf(addr)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, replica.ErrPeerKey):
		return fmt.Errorf("%w: check DEVICE, and whether %s is the right address", err, addr)
	case errors.Is(err, replica.ErrEnded) && strings.Contains(err.Error(), replica.ErrNoSpace.Error()):
		return fmt.Errorf("%w: compare the ids that \"stoat replica status\" shows here and there", err)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: check ADDRESS, and whether \"stoat replica serve\" runs there", err)
	case errors.As(err, &plain) && host == "":
		return fmt.Errorf("%w: the server does not speak TLS: if it serves HTTP, use http://%s", err,
			addr)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%w: the server does not speak TLS: use http://%s", err, host)
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: if \"stoat replica serve -listen\" runs there, use %s and DEVICE", err,
			host)
	case strings.HasPrefix(addr, "http://") && endsAtOnce(err):
		return fmt.Errorf("%w: the server speaks TLS, it seems: use https://%s, or, if \"stoat replica "+
			"serve -listen\" runs there, %s and DEVICE", err, host, host)
	}
	return err
}

// endsAtOnce reports whether an error is that of a server which did not understand a request.
func endsAtOnce(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) ||
		strings.Contains(err.Error(), "TLS") || strings.Contains(err.Error(), "HTTPS")
}

// hostOf returns the host and port of a URL, and nothing of another address.
func hostOf(addr string) string {
	u, err := url.Parse(addr)
	if err != nil {
		return ""
	}
	return u.Host
}

// reportArrivals runs fn, and prints how many entries of others arrived meanwhile, also if it
// fails.
func reportArrivals(s *stdio, space *replica.Space, db *stoat.DB, fn func() error) error {
	before, err := countEntries(space, db)
	if err != nil {
		return err
	}
	failed := fn()
	after, err := countEntries(space, db)
	if err == nil && (failed == nil || after > before) {
		_, err = fmt.Fprintf(s.out, "%s arrived\n", entriesText(int64(after-before)))
	}
	return errors.Join(failed, err)
}

// countEntries returns the number of entries by others.
func countEntries(space *replica.Space, db *stoat.DB) (n uint64, err error) {
	err = db.View(func(tx *stoat.Tx) error {
		heads, err := space.Heads(tx)
		for _, h := range heads {
			if !h.Own {
				n += h.Entries
			}
		}
		return err
	})
	return n, err
}

// sync connects and syncs.
func (f *syncFlags) sync(ctx context.Context, space *replica.Space, key *replica.Device,
	addr string, web bool, peer replica.DeviceID,
) error {
	if f.post {
		return replica.Post(ctx, space, addr, &replica.PostOptions{Peer: peer})
	}
	var conn io.ReadWriteCloser
	var err error
	if web {
		conn, err = replica.DialHTTP(ctx, addr, nil)
	} else {
		conn, err = replica.Dial(ctx, addr, key, peer)
	}
	if err != nil {
		return err
	}
	return replica.Sync(ctx, space, conn, &replica.SyncOptions{Once: !f.live, Peer: peer,
		FromCheckpoint: f.fromCheckpoint})
}

// parseDevice returns the device of an argument.
func parseDevice(text string) (replica.DeviceID, error) {
	id, err := replica.ParseDeviceID(text)
	if err != nil {
		return id, cmdline.Usagef("%q: %v: \"stoat replica device\" shows it there", text, err)
	}
	return id, nil
}
