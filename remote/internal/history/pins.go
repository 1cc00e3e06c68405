package history

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

const pinPrefix = "pin/"

// NamedPin is a pin in the store.
type NamedPin struct {
	Name string
	object.Pin
}

// Pins returns the pins in the store, in the order of their names.
func (l *Log) Pins(ctx context.Context) (pins []NamedPin, err error) {
	err = EachObject(ctx, l.Store, pinPrefix, func(page []objstore.Object) error {
		for _, o := range page {
			pin, err := l.pin(ctx, o.Name)
			if errors.Is(err, objstore.ErrNotExist) {
				continue // it was removed meanwhile
			}
			if err != nil {
				return err
			}
			pins = append(pins, NamedPin{strings.TrimPrefix(o.Name, pinPrefix), *pin})
		}
		return nil
	})
	return pins, err
}

func (l *Log) pin(ctx context.Context, name string) (*object.Pin, error) {
	p, err := l.Store.Get(ctx, name, 0, object.PinBytes+1)
	if err != nil {
		return nil, err
	}
	pin, err := object.DecodePin(name, p)
	if err == nil && pin.Database != l.Database {
		err = corrupt.New(name, 0, "the pin belongs to another database, %x", pin.Database)
	}
	return pin, err
}

// Pin pins the end of the log. The error matches objstore.ErrExists if there is a pin of the name.
func (l *Log) Pin(ctx context.Context, name string) (*object.Pin, error) {
	pin, err := l.createPin(ctx, name)
	if err != nil {
		return nil, err
	}
	// Files that the pin needs may have been deleted before it was there, if the bound had passed it
	// by then. The log may have been read far behind its end, so the newest state is read, too.
	bound, err := l.Bound(ctx)
	if err == nil && bound > pin.Number {
		err = fmt.Errorf("pin %s: the database has moved on meanwhile: try again", name)
	}
	if err != nil {
		return nil, errors.Join(err, l.Unpin(context.WithoutCancel(ctx), name))
	}
	return pin, nil
}

// createPin creates a pin of the end of the log.
func (l *Log) createPin(ctx context.Context, name string) (*object.Pin, error) {
	if err := objstore.CheckName(pinPrefix + name); err != nil {
		return nil, err
	}
	s, err := l.End(ctx)
	if err != nil {
		return nil, err
	}
	return l.pinState(ctx, name, s)
}

// pinState creates a pin of a state.
func (l *Log) pinState(
	ctx context.Context, name string, s *object.State,
) (*object.Pin, error) {
	pin := &object.Pin{Database: l.Database, Number: s.Number, Commit: s.Commit, Time: s.Time}
	return pin, l.Store.Create(ctx, pinPrefix+name, object.EncodePin(pin))
}

// Unpin removes a pin. It is no error if there is none.
func (l *Log) Unpin(ctx context.Context, name string) error {
	if err := objstore.CheckName(pinPrefix + name); err != nil {
		return err
	}
	return l.Store.Delete(ctx, []string{pinPrefix + name})
}

// Bound returns the newest unlink bound of the log, as of a moment during the call.
func (l *Log) Bound(ctx context.Context) (uint64, error) {
	for {
		s, err := l.End(ctx)
		if err != nil {
			return 0, err
		}
		newest, err := l.Newest(ctx)
		if err != nil {
			return 0, err
		}
		if newest.Number <= s.Number { // else what follows s may have been deleted
			return s.Bound, nil
		}
	}
}
