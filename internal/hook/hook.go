// Package hook lets other packages choose what users cannot: tests the file system and the sizes of
// a database, and package remote who ships it, or that it is a replica. So the public API has no
// options for them.
//
// Package tuned attaches [Settings] to the options or to the context that it calls the root package
// with, and the root package looks for them there. All functions are safe for concurrent use.
package hook

import (
	"context"
	"sync"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Settings are what others than users choose.
type Settings struct {
	FS     vfs.FS        // set by tests only, which may go below the limits of options
	Tuning engine.Tuning // for opening
	Sizes  salvage.Sizes // for salvage

	Shipper engine.Shipper // for opening; may be nil
	// Over returns the file system to open a database in, given the one that it is in, which may
	// encrypt; may be nil.
	Over func(vfs.FS) vfs.FS
	// Replica makes the engine in the place of opening a folder; may be nil.
	Replica func(o engine.Options) *engine.Replica
	// Opened is called with the engine of a database that was opened; may be nil.
	Opened func(e *engine.Engine)
}

// attached is the settings by the pointer to the options that they are attached to.
var attached sync.Map

// Attach attaches settings to the options that are passed to a function, until detach is called.
func Attach[Options any](o *Options, s Settings) (detach func()) {
	attached.Store(o, s)
	return func() { attached.Delete(o) }
}

// Of returns the settings that are attached to the options, if any.
func Of[Options any](o *Options) (s Settings, ok bool) {
	value, ok := attached.Load(o)
	if ok {
		s, ok = value.(Settings)
	}
	return s, ok
}

// contextKey is the key of the settings in a context.
type contextKey struct{}

// With returns a context that carries settings.
func With(ctx context.Context, s Settings) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// From returns the settings that a context carries, if any.
func From(ctx context.Context) (s Settings, ok bool) {
	s, ok = ctx.Value(contextKey{}).(Settings)
	return s, ok
}
