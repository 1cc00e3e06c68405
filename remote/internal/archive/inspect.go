package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// writersMost is how many claims [Archive.Inspect] reads.
const writersMost = 5

// Usage is what objects of a kind take in a store.
type Usage struct {
	Objects int
	Bytes   int64
}

func (u *Usage) add(o objstore.Object) {
	u.Objects++
	u.Bytes += o.Size
}

// Contents is what is in a store.
type Contents struct {
	First, End *object.State // the first one that can be restored, and the newest
	Claims     []*object.Log // the newest claims, newest first; at most writersMost
	Pins       []history.NamedPin

	Log, States, Tables, Values, Pinned, Other Usage // of objects, by their kinds
	Past                                       Usage // of these, what restoring the end does not need
	Lent                                       Usage // files that only the parent of a clone has
}

// Inspect returns what is in the store. Nothing is changed, and a writer may run meanwhile.
func (a *Archive) Inspect(ctx context.Context) (*Contents, error) {
	err := a.log.Identify(ctx)
	if errors.Is(err, history.ErrNone) {
		if begun := history.WantUndrafted(ctx, a.log.Store); begun != nil {
			err = fmt.Errorf("%w: %w", err, begun)
		}
	}
	if err != nil {
		return nil, err
	}
	c := &Contents{}
	if c.First, c.End, err = a.span(ctx); err != nil {
		return nil, err
	}
	if c.Pins, err = a.log.Pins(ctx); err != nil {
		return nil, err
	}
	for i := len(c.End.Claims) - 1; i >= 0 && len(c.Claims) < writersMost; i-- {
		claim, err := a.log.ClaimAt(ctx, c.End.Claims[i])
		if err != nil {
			return nil, err
		}
		c.Claims = append(c.Claims, claim)
	}
	newest, err := a.log.Newest(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.addLent(ctx, a.log.Store); err != nil {
		return nil, err
	}
	needed := history.FileSizes(c.End.Version)
	return c, history.EachObject(ctx, a.log.Store, "", func(page []objstore.Object) error {
		past := map[string]bool{}
		for _, name := range history.Removable(newest, page) {
			past[name] = true
		}
		for _, o := range page {
			of, isData := c.usage(o.Name)
			_, isNeeded := needed[o.Name]
			if of.add(o); past[o.Name] || isData && !isNeeded {
				c.Past.add(o)
			}
		}
		return nil
	})
}

// addLent counts the files that only the parent of a clone has.
func (c *Contents) addLent(ctx context.Context, own objstore.Store) error {
	lent, err := history.Lent(ctx, own, c.End)
	for name, size := range lent {
		c.Lent.add(objstore.Object{Name: name, Size: size})
	}
	return err
}

// usage returns what an object counts to, and whether it is a file of the database.
func (c *Contents) usage(name string) (of *Usage, isData bool) {
	kind, _, isData := history.ParseData(name)
	prefix, _, _ := strings.Cut(name, "/")
	switch {
	case isData && kind == folder.Table:
		return &c.Tables, true
	case isData:
		return &c.Values, true
	case prefix == "log", name == history.DraftName:
		return &c.Log, false
	case prefix == "state":
		return &c.States, false
	case prefix == "pin":
		return &c.Pinned, false
	}
	return &c.Other, false
}

// span returns the first state that can be restored, with the newest one.
func (a *Archive) span(ctx context.Context) (first, end *object.State, err error) {
	for bound := uint64(0); ; bound = end.Bound {
		if end, err = a.log.End(ctx); err != nil {
			return nil, nil, err
		}
		first, err = a.log.First(ctx, end)
		if !errors.Is(err, objstore.ErrNotExist) || end.Bound == bound {
			return first, end, err
		}
	}
}
