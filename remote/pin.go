package remote

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/objstore"
)

// PinInfo describes a pin: a named position of a database that can be restored as long as the pin
// is there, however old it is.
type PinInfo struct {
	Name   string
	Commit uint64    // the newest one that it keeps
	Time   time.Time // when that was shipped, by the clock of its writer
}

// Pin pins the database in the store as it is now. The store keeps everything from there on until
// [Unpin] removes the pin, so a pin costs more the longer it stays. A name is of the alphabet of
// objects ([objstore.CheckName]); if it is taken, the error matches [objstore.ErrExists]. No writer
// has to run.
func Pin(ctx context.Context, store objstore.Store, name string) (PinInfo, error) {
	a, err := archive.New(store)
	if err != nil {
		return PinInfo{}, err
	}
	pin, err := a.Pin(ctx, name)
	if err != nil {
		return PinInfo{}, fmt.Errorf("pin %s: %w", name, err)
	}
	return pinInfo(history.NamedPin{Name: name, Pin: *pin}), nil
}

// Unpin removes a pin. The writer deletes later what only it has kept. It is no error if there is
// none.
func Unpin(ctx context.Context, store objstore.Store, name string) error {
	a, err := archive.New(store)
	if err == nil {
		err = a.Unpin(ctx, name)
	}
	return err
}

// Pins returns the pins of the database in the store, in the order of their names.
func Pins(ctx context.Context, store objstore.Store) (pins []PinInfo, err error) {
	a, err := archive.New(store)
	if err != nil {
		return nil, err
	}
	named, err := a.Pins(ctx)
	for _, pin := range named {
		pins = append(pins, pinInfo(pin))
	}
	return pins, err
}

func pinInfo(pin history.NamedPin) PinInfo {
	return PinInfo{pin.Name, pin.Commit, time.UnixMilli(int64(pin.Time))}
}
