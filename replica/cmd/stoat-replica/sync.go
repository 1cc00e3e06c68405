package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// syncFlags are what a sync is like.
type syncFlags struct {
	live, post bool
}

func syncCommand() *command {
	flags := newFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	var f syncFlags
	flags.BoolVar(&f.live, "live", false, "stay connected, until interrupted")
	flags.BoolVar(&f.post, "post", false, "with a URL: use single requests, not a connection")
	return &command{
		name: "sync", arguments: "DB ADDRESS [DEVICE]", summary: "give and take what is missing",
		details: `
ADDRESS is the host and port of "stoat replica serve", and DEVICE the id of the
device that must answer there. Or it is the URL of a program that serves the
space over HTTP; then DEVICE may be left out.`,
		min: 2, max: 3, flags: flags,
		run: func(ctx context.Context, s *stdio, args []string) error {
			url := strings.HasPrefix(args[1], "http://") || strings.HasPrefix(args[1], "https://")
			switch {
			case !url && len(args) < 3:
				return usagef("DEVICE is missing: \"stoat replica device\" shows it there")
			case f.post && (!url || f.live):
				return usagef("-post needs a URL, and excludes -live")
			}
			var peer replica.DeviceID
			if len(args) == 3 {
				var err error
				if peer, err = parseDevice(args[2]); err != nil {
					return err
				}
			}
			return o.update(args[0], func(space *replica.Space, _ *stoat.DB) error {
				err := f.sync(ctx, space, o.key, args[1], url, peer)
				if f.live && ctx.Err() != nil {
					return nil // an interrupt is how it ends
				}
				if errors.Is(err, replica.ErrPeerKey) {
					err = fmt.Errorf("%w: check DEVICE, and whether %s is the right address", err, args[1])
				}
				return err
			})
		},
	}
}

// sync connects and syncs.
func (f *syncFlags) sync(ctx context.Context, space *replica.Space, key *replica.Device,
	addr string, url bool, peer replica.DeviceID,
) error {
	if f.post {
		return replica.Post(ctx, space, addr, &replica.PostOptions{Peer: peer})
	}
	var conn io.ReadWriteCloser
	var err error
	if url {
		conn, err = replica.DialHTTP(ctx, addr, nil)
	} else {
		conn, err = replica.Dial(ctx, addr, key, peer)
	}
	if err != nil {
		return err
	}
	return replica.Sync(ctx, space, conn, &replica.SyncOptions{Once: !f.live, Peer: peer})
}

// parseDevice returns the device of an argument.
func parseDevice(text string) (replica.DeviceID, error) {
	id, err := replica.ParseDeviceID(text)
	if err != nil {
		return id, usagef("%q: %v: \"stoat replica device\" shows it there", text, err)
	}
	return id, nil
}
