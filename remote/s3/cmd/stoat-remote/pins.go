package main

import (
	"context"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

// pinJSON is a pin.
type pinJSON struct {
	Name   string `json:"name"`
	Commit uint64 `json:"commit"`
	Time   string `json:"time"`
}

// pinsOf returns pins as JSON shows them.
func pinsOf(pins []remote.PinInfo) []pinJSON {
	all := []pinJSON{}
	for _, pin := range pins {
		all = append(all, pinJSON{pin.Name, pin.Commit, timeText(pin.Time)})
	}
	return all
}

func pinsCommand() *command {
	flags := cmdline.NewFlags()
	asJSON := jsonFlag(flags)
	return &command{
		Name: "pins", Arguments: "STORE", Summary: "list the pins", Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			store, err := s.openStore(ctx, args[0])
			if err != nil {
				return err
			}
			pins, err := remote.Pins(ctx, store)
			if err != nil {
				return err
			}
			t := &columns.Table{Out: s.out, Widths: []int{-14, 24}}
			for _, pin := range pinsOf(pins) {
				if *asJSON {
					err = writeJSON(s, pin)
				} else {
					err = t.Row(progress.Count(int64(pin.Commit)), pin.Time, pin.Name)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// findPin returns the pin of a name.
func findPin(ctx context.Context, store objstore.Store, name string) (remote.PinInfo, error) {
	pins, err := remote.Pins(ctx, store)
	if err != nil {
		return remote.PinInfo{}, err
	}
	for _, pin := range pins {
		if pin.Name == name {
			return pin, nil
		}
	}
	return remote.PinInfo{}, fmt.Errorf("there is no pin %s (\"stoat remote pins\" lists them): %w",
		name, stoat.ErrNotFound)
}
