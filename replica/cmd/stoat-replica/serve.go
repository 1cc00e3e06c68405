package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// sessionJSON is one connection.
type sessionJSON struct {
	Time   time.Time `json:"time"`
	Space  string    `json:"space,omitempty"`
	Device string    `json:"device,omitempty"`
	Error  string    `json:"error,omitempty"`
}

func serveCommand() *command {
	flags := newFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	asJSON := jsonFlag(flags)
	listen := flags.String("listen", "localhost:7370", "the TCP `ADDRESS` to listen at")
	return &command{
		name: "serve", arguments: "DB", summary: "sync with all devices that connect, until interrupted",
		details: `
Devices connect with "stoat replica sync". The connection is encrypted, and each
side proves which device it is. Without -space, all spaces are served. Each
connection is a line of the output when it ends.`,
		min: 1, max: 1, flags: flags,
		run: func(ctx context.Context, s *stdio, args []string) error {
			device, err := requireKeyFile(o.device)
			if err != nil {
				return err
			}
			db, err := openExisting(args[0])
			if err != nil {
				return err
			}
			spaces, err := o.openAll(db, device)
			if err == nil {
				err = serve(ctx, s, spaces, device, *listen, *asJSON)
			}
			return errors.Join(err, db.Close())
		},
	}
}

// openAll opens the space that was chosen, or all.
func (o *target) openAll(db *stoat.DB, device *replica.Device) ([]*replica.Space, error) {
	names := []string{o.space}
	if o.space == "" {
		err := db.View(func(tx *stoat.Tx) (err error) {
			names, err = replica.Spaces(tx)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	var spaces []*replica.Space
	for _, name := range names {
		space, err := replica.Open(db, name, &replica.Options{Device: device})
		if err != nil {
			return nil, err
		}
		spaces = append(spaces, space)
	}
	if len(spaces) == 0 {
		return nil, fmt.Errorf("the database has no space: create or join one (%w)", errNotFound)
	}
	return spaces, nil
}

// serve serves spaces until the context ends.
func serve(ctx context.Context, s *stdio, spaces []*replica.Space, device *replica.Device,
	addr string, asJSON bool,
) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards the output
	say := func(v *sessionJSON, text string) {
		mu.Lock()
		defer mu.Unlock()
		if asJSON {
			_ = writeJSON(s, v)
		} else {
			fmt.Fprintln(s.out, text)
		}
		_ = s.out.Flush() // nobody may be reading
	}
	if !asJSON {
		say(nil, fmt.Sprintf("device %s listens at %s", device.ID(), l.Addr()))
	}
	err = replica.Serve(ctx, l, spaces, &replica.ServeOptions{
		Ended: func(space *replica.Space, peer replica.DeviceID, err error) {
			now := time.Now()
			v := &sessionJSON{Time: now.UTC()}
			text := clock(now)
			if space != nil {
				v.Space, v.Device = space.Name(), peer.String()
				text += "  " + short(peer) + "  " + space.Name()
			}
			if err != nil {
				v.Error = err.Error()
				text += "  " + err.Error()
			}
			say(v, text)
		},
	})
	if ctx.Err() != nil {
		return nil // an interrupt is how it ends
	}
	return err
}
