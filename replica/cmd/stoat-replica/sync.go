package main

import (
	"context"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

func syncCommand() *command {
	flags := newFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		name: "sync", arguments: "DB ADDRESS DEVICE", summary: "give and take what is missing",
		details: `
ADDRESS is the host and port of "stoat replica serve", and DEVICE the id of the
device that must answer there.`,
		min: 3, max: 3, flags: flags,
		run: func(ctx context.Context, s *stdio, args []string) error {
			peer, err := parseDevice(args[2])
			if err != nil {
				return err
			}
			return o.update(args[0], func(space *replica.Space, _ *stoat.DB) error {
				conn, err := replica.Dial(ctx, args[1], space, peer)
				if err != nil {
					return err
				}
				return replica.Exchange(ctx, space, conn)
			})
		},
	}
}

// parseDevice returns the device of an argument.
func parseDevice(text string) (replica.DeviceID, error) {
	id, err := replica.ParseDeviceID(text)
	if err != nil {
		return id, usagef("%q: %v: \"stoat replica device\" shows it there", text, err)
	}
	return id, nil
}
