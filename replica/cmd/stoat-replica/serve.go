package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
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
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	asJSON := jsonFlag(flags)
	listen := flags.String("listen", "localhost:7370", "the TCP `ADDRESS` to listen at; empty: none")
	web := flags.String("http", "", "the `ADDRESS` to listen at for HTTP, behind a proxy with TLS")
	return &command{
		Name: "serve", Arguments: "DB", Summary: "sync with all devices that connect, until interrupted",
		Details: `
Devices connect with "stoat replica sync". The connection is encrypted, and each
side proves which device it is. Without -space, all spaces are served. Each
connection is a line of the output when it ends.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			device, err := requireKeyFile(o.device)
			if err != nil {
				return err
			}
			db, err := o.openExisting(args[0])
			if err != nil {
				return err
			}
			spaces, err := o.openAll(db, device)
			if err == nil {
				v := &serving{s: s, spaces: spaces, device: device, asJSON: *asJSON}
				err = v.run(ctx, *listen, *web)
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
		space, err := openSpace(db, name, device)
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

// serving is spaces that are served. It is safe for concurrent use.
type serving struct {
	spaces []*replica.Space
	device *replica.Device
	asJSON bool

	mu sync.Mutex
	s  *stdio
}

// run serves until the context ends.
func (v *serving) run(ctx context.Context, listen, web string) error {
	if listen == "" && web == "" {
		return cmdline.Usagef("give an address with -listen or -http")
	}
	var servers []func(context.Context) error
	about := "device " + v.device.ID().String()
	for _, to := range []struct {
		addr, scheme string
		serve        func(context.Context, net.Listener) error
	}{{listen, "", v.serveTCP}, {web, "http://", v.serveHTTP}} {
		if to.addr == "" {
			continue
		}
		l, err := net.Listen("tcp", to.addr)
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()
		servers = append(servers, func(ctx context.Context) error { return to.serve(ctx, l) })
		about += "\nlistens at " + to.scheme + l.Addr().String()
	}
	if !v.asJSON {
		v.say(nil, about)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(servers))
	for _, serve := range servers {
		go func() { failed <- serve(ctx) }()
	}
	err := <-failed
	stopped := ctx.Err() != nil // an interrupt is how it ends
	cancel()
	for range servers[1:] {
		<-failed
	}
	if stopped {
		return nil
	}
	return err
}

func (v *serving) serveTCP(ctx context.Context, l net.Listener) error {
	return replica.Serve(ctx, l, v.spaces, &replica.ServeOptions{Ended: v.ended})
}

func (v *serving) serveHTTP(ctx context.Context, l net.Listener) error {
	var requests sync.WaitGroup
	handler := replica.Handler(v.spaces, &replica.ServeOptions{Ended: v.ended})
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests.Add(1)
			defer requests.Done()
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err := server.Serve(l)
	requests.Wait()
	return err
}

// ended prints a line for a connection that ended.
func (v *serving) ended(space *replica.Space, peer replica.DeviceID, err error) {
	now := time.Now()
	j := &sessionJSON{Time: now.UTC()}
	text := clock(now)
	if space != nil {
		j.Space, j.Device = space.Name(), peer.String()
		text += "  " + short(peer) + "  " + space.Name()
	}
	if err != nil {
		j.Error = err.Error()
		text += "  " + err.Error()
	}
	v.say(j, text)
}

// say prints a line.
func (v *serving) say(j *sessionJSON, text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.asJSON {
		_ = writeJSON(v.s, j)
	} else {
		fmt.Fprintln(v.s.out, text)
	}
	_ = v.s.out.Flush() // nobody may be reading
}
