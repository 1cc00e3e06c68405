// Package faultstore is a store for tests, in which every request has a planned fate: it can fail,
// lose its answer, or take effect later, even after its client has crashed.
//
// A [Server] holds the objects of an inner store, and the requests that are still under way. Its
// clients stand for processes: each has a [Plan], a function that decides the fate of each request,
// and can crash. Everything is safe for concurrent use if the plans are. Nothing is random, and
// nothing waits: a plan that blocks makes a request slow.
package faultstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrFailed is the error of a request that had no effect.
var ErrFailed = errors.New("planned failure")

// ErrCrashed is the error of every request of a client that has crashed.
var ErrCrashed = errors.New("client has crashed")

// Fate is what becomes of a request.
type Fate int

// Fates. Requests that only read have no effect, so all fates except Answered make them fail.
const (
	Answered    Fate = iota // as if nothing was planned
	Failed                  // no effect, and an error that says so
	Unavailable             // no effect, and nobody knows: a 409, a 503, a lost request
	AnswerLost              // the effect, and nobody knows
	Late                    // nobody knows, and the effect comes with [Server.Deliver]
)

// Op is the method of a store that a request calls.
type Op int

// The methods of a store.
const (
	Create Op = iota
	Put
	Get
	List
	Delete
	ops
)

// String returns the name of the method in lower case.
func (o Op) String() string {
	if o < 0 || o >= ops {
		return fmt.Sprintf("Op(%d)", int(o))
	}
	return [ops]string{"create", "put", "get", "list", "delete"}[o]
}

// Request is a call of a store.
type Request struct {
	Op    Op
	Name  string // of the object, the first one of a Delete, or the prefix of a List
	Index int    // how many requests of this client there were before
}

// Plan decides the fate of a request, before it has an effect. It runs in the caller's goroutine
// and may use the server, and crash the client.
type Plan func(Request) Fate

// Server is the store that clients share.
type Server struct {
	inner objstore.Store
	mu    sync.Mutex
	late  []func() error // effects under way, the oldest first
}

// NewServer returns a server of the objects in inner.
func NewServer(inner objstore.Store) *Server { return &Server{inner: inner} }

// UnderWay returns how many requests are under way: late ones that have not been delivered.
func (s *Server) UnderWay() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.late)
}

// Deliver lets request i of those under way have its effect, whatever that is by now.
func (s *Server) Deliver(i int) error {
	s.mu.Lock()
	if i < 0 || i >= len(s.late) {
		s.mu.Unlock()
		return fmt.Errorf("no request %d is under way", i)
	}
	effect := s.late[i]
	s.late = slices.Delete(s.late, i, i+1)
	s.mu.Unlock()
	if err := effect(); err != nil && !errors.Is(err, objstore.ErrExists) {
		return err
	}
	return nil
}

func (s *Server) postpone(effect func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, effect)
}

// Client is the store as one process sees it.
type Client struct {
	server *Server
	plan   Plan

	mu      sync.Mutex
	crashed bool
	counts  [ops]int
}

var _ objstore.Store = (*Client)(nil)

// Client returns a new client. A nil plan plans nothing.
func (s *Server) Client(plan Plan) *Client { return &Client{server: s, plan: plan} }

// Crash makes all further requests fail, and those whose plan is being asked. What is under way
// stays so.
func (c *Client) Crash() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.crashed = true
}

// Count returns how many requests there were of the given kinds, or of all if none is given.
func (c *Client) Count(kinds ...Op) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for op, count := range c.counts {
		if len(kinds) == 0 || slices.Contains(kinds, Op(op)) {
			n += count
		}
	}
	return n
}

// begin counts a request and returns its fate.
func (c *Client) begin(op Op, name string) (Fate, error) {
	c.mu.Lock()
	index := 0
	for _, count := range c.counts {
		index += count
	}
	crashed := c.crashed
	if !crashed {
		c.counts[op]++
	}
	c.mu.Unlock()
	if crashed {
		return Failed, ErrCrashed
	}
	fate := Answered
	if c.plan != nil {
		fate = c.plan(Request{op, name, index})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.crashed {
		return fate, ErrCrashed
	}
	return fate, nil
}

// write does a request that has an effect.
func (c *Client) write(op Op, name string, effect func() error) error {
	fate, err := c.begin(op, name)
	if err != nil && fate != AnswerLost && fate != Late {
		return fmt.Errorf("%s %s: %w", op, name, err)
	}
	switch fate {
	case Failed:
		return fmt.Errorf("%s %s: %w", op, name, ErrFailed)
	case AnswerLost:
		_ = effect() // that is what is lost
	case Late:
		c.server.postpone(effect)
	case Answered:
		return effect()
	}
	if err == nil {
		err = objstore.ErrUnknown
	}
	return fmt.Errorf("%s %s: %w", op, name, err)
}

// read does a request that has none.
func (c *Client) read(op Op, name string) error {
	fate, err := c.begin(op, name)
	if err == nil && fate != Answered {
		err = ErrFailed
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", op, name, err)
	}
	return nil
}

// Create implements [objstore.Store].
func (c *Client) Create(ctx context.Context, name string, body []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	body = bytes.Clone(body)
	detached := context.WithoutCancel(ctx)
	return c.write(Create, name, func() error { return c.server.inner.Create(detached, name, body) })
}

// Put implements [objstore.Store].
func (c *Client) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	whole, err := io.ReadAll(io.NewSectionReader(body, 0, size))
	if err != nil {
		return err
	}
	detached := context.WithoutCancel(ctx)
	return c.write(Put, name, func() error {
		return c.server.inner.Put(detached, name, bytes.NewReader(whole), size)
	})
}

// Get implements [objstore.Store].
func (c *Client) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if err := c.read(Get, name); err != nil {
		return nil, err
	}
	return c.server.inner.Get(ctx, name, off, n)
}

// List implements [objstore.Store].
func (c *Client) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	if err := c.read(List, prefix); err != nil {
		return nil, err
	}
	return c.server.inner.List(ctx, prefix, after, limit)
}

// Delete implements [objstore.Store].
func (c *Client) Delete(ctx context.Context, names []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	names = slices.Clone(names)
	first := ""
	if len(names) > 0 {
		first = names[0]
	}
	detached := context.WithoutCancel(ctx)
	return c.write(Delete, first, func() error { return c.server.inner.Delete(detached, names) })
}
