package ship

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Source reads a database in a store. Safe for concurrent use once the database is known.
type Source struct {
	log     *history.Log
	context context.Context // of opening
}

// NewSource returns the source of the database in a store. The context is for requests until the
// database is open.
func NewSource(ctx context.Context, store objstore.Store) (*Source, error) {
	codec, err := object.NewCodec()
	if err != nil {
		return nil, err
	}
	return &Source{context: ctx, log: &history.Log{
		Store: store, Codec: codec,
		NewID: func() (id object.ID) {
			_, _ = rand.Read(id[:]) // never fails
			return id
		},
		Now: func() uint64 { return uint64(time.Now().UnixMilli()) },
		Pause: func(ctx context.Context, tries int) error {
			retry.Sleep(ctx, retry.BackOff(tries), nil)
			return context.Cause(ctx)
		},
	}}, nil
}

// Log returns the log in the store.
func (s *Source) Log() *history.Log { return s.log }

// ErrNone reports that a store has no database.
var ErrNone = errors.New("there is no database in the store")

// Identify finds out which database is in the store.
func (s *Source) Identify() error {
	database, exists, err := history.Identify(s.context, s.log.Store)
	if err == nil && !exists {
		err = ErrNone
	}
	s.log.Database = database
	return err
}

// Identifying begins [Source.Identify], and returns what waits for it.
func (s *Source) Identifying() (wait func() error) {
	var running sync.WaitGroup
	var err error
	running.Go(func() { err = s.Identify() })
	return func() error {
		running.Wait()
		return err
	}
}

// Pin pins the end of the log of the database in the store.
func (s *Source) Pin(ctx context.Context, name string) (*object.Pin, error) {
	if err := s.Identify(); err != nil {
		return nil, err
	}
	return s.log.Pin(ctx, name)
}

// Pins returns the pins of the database in the store.
func (s *Source) Pins(ctx context.Context) ([]history.NamedPin, error) {
	if err := s.Identify(); err != nil {
		return nil, err
	}
	return s.log.Pins(ctx)
}

// Unpin removes a pin.
func (s *Source) Unpin(ctx context.Context, name string) error { return s.log.Unpin(ctx, name) }
