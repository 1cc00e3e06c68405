package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// story is what happens to the three devices.
type story struct {
	ctx      context.Context
	out      io.Writer
	clock    clock
	ann, ben *device
	server   *host
}

// run tells the story.
func run(ctx context.Context, out io.Writer) error {
	s := &story{ctx: ctx, out: out}
	for _, chapter := range []func() error{
		s.found, s.goOffline, s.comeTogether, s.decide, s.loseServer, s.compare,
	} {
		if err := chapter(); err != nil {
			return err
		}
	}
	return errors.Join(s.ann.db.Close(), s.ben.db.Close(), s.server.close())
}

// say prints a line of the story.
func (s *story) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }

// visits lets devices sync with the server, one after the other.
func (s *story) visits(devices ...*device) error {
	for _, d := range devices {
		if err := d.visit(s.ctx, s.server); err != nil {
			return fmt.Errorf("%s visits the server: %w", d.name, err)
		}
	}
	return nil
}

// found makes the space on Ann's phone, and lets the two others join it.
func (s *story) found() error {
	keys := make([]*replica.Device, 3)
	for i := range keys {
		var err error
		if keys[i], err = replica.NewDevice(); err != nil {
			return err
		}
	}
	var err error
	if s.ann, err = newDevice("Ann", keys[0], &s.clock, replica.SpaceID{}); err != nil {
		return err
	}
	id := s.ann.space.ID()
	if s.ben, err = newDevice("Ben", keys[1], &s.clock, id); err != nil {
		return err
	}
	empty, err := newDevice("server", keys[2], &s.clock, id)
	if err != nil {
		return err
	}
	if s.server, err = empty.listen(s.ctx); err != nil {
		return err
	}
	err = s.ann.db.Update(func(tx *stoat.Tx) error { // the server only keeps and passes on
		if err := s.ann.space.Grant(tx, s.ben.key.ID(), replica.Write); err != nil {
			return err
		}
		return s.ann.space.Grant(tx, s.server.key.ID(), replica.Read)
	})
	if err == nil {
		err = s.ann.change("milk", func(l *Line) { l.Amount = 1 })
	}
	if err == nil {
		err = s.visits(s.ann, s.ben)
	}
	if err != nil {
		return err
	}
	s.say("Ann made a list, Ben has got it from the server:")
	return s.ben.print(s.out)
}

// goOffline lets both change the list without a network.
func (s *story) goOffline() error {
	err := errors.Join(
		s.ann.change("milk", func(l *Line) { l.Amount += 2; l.Note = "for the cake" }),
		s.ann.change("flour", func(l *Line) { l.Amount = 1; l.Tags = []string{"cake"} }),
		s.ben.change("milk", func(l *Line) { l.Amount++; l.Note = "oat milk" }),
		s.ben.change("bread", func(l *Line) { l.Amount = 1 }),
	)
	s.say("Both are offline, and change the list.")
	return err
}

// comeTogether syncs both with the server, and shows what became of their changes.
func (s *story) comeTogether() error {
	if err := s.visits(s.ann, s.ben, s.ann); err != nil {
		return err
	}
	s.say("They are online again: amounts add up, and one note shows.")
	if err := s.ann.print(s.out); err != nil {
		return err
	}
	return s.ann.db.View(func(tx *stoat.Tx) error {
		for c, err := range s.ann.space.Conflicts(tx) {
			if err != nil {
				return err
			}
			s.say("  conflict: the %s of %s has %d values", c.Field, c.Key[0], len(c.Values))
		}
		return nil
	})
}

// decide settles the conflict: a device that has seen both notes writes another one.
func (s *story) decide() error {
	err := s.ann.change("milk", func(l *Line) { l.Note = "one of them oat milk" })
	if err == nil {
		err = s.visits(s.ann, s.ben)
	}
	if err != nil {
		return err
	}
	conflicts := 0
	err = s.ben.db.View(func(tx *stoat.Tx) error {
		for _, err := range s.ben.space.Conflicts(tx) {
			if err != nil {
				return err
			}
			conflicts++
		}
		return nil
	})
	s.say("Ann decides; Ben has %d conflicts.", conflicts)
	return err
}

// loseServer takes the server's disk away. Its key is kept elsewhere, so it is the same device with
// an empty database.
func (s *story) loseServer() error {
	key := s.server.key
	if err := s.server.close(); err != nil {
		return err
	}
	if err := s.ben.change("eggs", func(l *Line) { l.Amount = 6 }); err != nil {
		return err
	}
	empty, err := newDevice("server", key, &s.clock, s.ann.space.ID())
	if err != nil {
		return err
	}
	if s.server, err = empty.listen(s.ctx); err != nil {
		return err
	}
	if err := s.visits(s.ben); err != nil {
		return err
	}
	s.say("The server lost its disk. Ben's phone has refilled it:")
	return s.server.print(s.out)
}

// compare checks that all three have the same state.
func (s *story) compare() error {
	if err := s.visits(s.ann); err != nil {
		return err
	}
	var first [32]byte
	for i, d := range []*device{s.ann, s.ben, s.server.device} {
		root, err := d.root()
		if err != nil {
			return err
		}
		if i == 0 {
			first = root
		}
		if root != first {
			return fmt.Errorf("%s has another state", d.name)
		}
	}
	s.say("All three have the same state, by its root.")
	return nil
}
