package objstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	probeRacers = 16
	probeRounds = 4
	cleanupMax  = 30 * time.Second // for deletions after the probe, even if its context has ended
)

// Probe finds out whether a store is fit for databases, in some 100 requests: it races itself to
// create objects, reads them back, lists and deletes them. The error matches [ErrUnfit] and says
// what the store lacks, or wraps the error of a request that failed. A nil error is no proof: a
// store may lose a race only under more load, or show stale listings only now and then.
//
// The objects of a probe have names of their own below probe/, and it deletes them.
func Probe(ctx context.Context, s Store) (err error) {
	p := probe{store: s, prefix: "probe/" + randomName() + "/"}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupMax)
		defer cancel()
		if cleaned := s.Delete(cleanup, p.names); cleaned != nil {
			err = errors.Join(err, fmt.Errorf("clean up after the probe: %w", cleaned))
		}
	}()
	var lacks []error
	for _, try := range []func(context.Context) error{
		p.race, p.refusal, p.ranges, p.listing, p.deletion,
	} {
		switch err := try(ctx); {
		case errors.Is(err, ErrUnfit):
			lacks = append(lacks, err)
		case err != nil:
			return errors.Join(append(lacks, fmt.Errorf("probe the store: %w", err))...)
		}
	}
	return errors.Join(lacks...)
}

// randomName returns 128 random bits in the alphabet of names.
func randomName() string { return string(bytes.ToLower([]byte(rand.Text()))) }

// probe is the state of a [Probe].
type probe struct {
	store  Store
	prefix string
	names  []string // to delete in the end
}

// name returns the name of an object of the probe.
func (p *probe) name(base string) string {
	name := p.prefix + base
	p.names = append(p.names, name)
	return name
}

func unfit(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnfit, fmt.Sprintf(format, args...))
}

// race lets clients create one object; one of them must succeed.
func (p *probe) race(ctx context.Context) error {
	for round := range probeRounds {
		if err := p.raceFor(ctx, p.name(fmt.Sprintf("race-%d", round))); err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) raceFor(ctx context.Context, name string) error {
	var errs [probeRacers]error
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			<-start
			errs[i] = p.store.Create(ctx, name, []byte{byte(i)})
		})
	}
	close(start)
	all.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won >= 0:
			return unfit("of clients that create one object, several succeed (If-None-Match is ignored " +
				"or not atomic)")
		case err == nil:
			won = i
		case !errors.Is(err, ErrExists) && !errors.Is(err, ErrUnknown):
			return err
		}
	}
	body, err := p.store.Get(ctx, name, 0, -1)
	switch {
	case errors.Is(err, ErrNotExist):
		return unfit("an object that was created is not there")
	case err != nil:
		return err
	case len(body) != 1 || int(body[0]) >= len(errs) || won >= 0 && int(body[0]) != won:
		return unfit("an object does not hold what its creator wrote")
	case won < 0 && errors.Is(errs[body[0]], ErrExists):
		return unfit("a client is told that an object exists, which is its own")
	}
	return nil
}

// refusal creates an object again, which must have no effect.
func (p *probe) refusal(ctx context.Context) error {
	name := p.name("taken")
	if err := p.store.Create(ctx, name, []byte("first")); err != nil {
		return err
	}
	if err := p.store.Create(ctx, name, []byte("second")); !errors.Is(err, ErrExists) {
		if err != nil {
			return err
		}
		return unfit("creating an object overwrites the one that has the name (If-None-Match is ignored)")
	}
	body, err := p.store.Get(ctx, name, 0, -1)
	if err == nil && string(body) != "first" {
		err = unfit("a creation that was refused has changed the object")
	}
	return err
}

// ranges reads parts of an object.
func (p *probe) ranges(ctx context.Context) error {
	name, body := p.name("ranges"), []byte("0123456789")
	if err := p.store.Put(ctx, name, bytes.NewReader(body), int64(len(body))); err != nil {
		return err
	}
	for _, r := range [][2]int64{{0, 10}, {0, 3}, {4, 3}, {7, 100}, {-4, -1}, {-100, -1}, {10, 1}} {
		got, err := p.store.Get(ctx, name, r[0], r[1])
		if err != nil {
			return err
		}
		if start, end := Range(int64(len(body)), r[0], r[1]); !bytes.Equal(got, body[start:end]) {
			return unfit("reading %d bytes from %d on returns others (Range is ignored or cut)", r[1],
				r[0])
		}
	}
	return nil
}

// listing lists objects right after they were stored.
func (p *probe) listing(ctx context.Context) error {
	names := []string{
		p.name("list/1"), p.name("list/10"), p.name("list/2"), p.name("list/a-b"), p.name("list/a/b"),
	}
	for i := range names {
		if err := p.store.Create(ctx, names[len(names)-1-i], []byte{1}); err != nil {
			return err
		}
		if err := p.lists(ctx, "list/", "", 100, names[len(names)-1-i:]); err != nil {
			return err
		}
	}
	if err := p.lists(ctx, "list/", names[1], 2, names[2:4]); err != nil {
		return err
	}
	return p.lists(ctx, "list/1", "", 1, names[:1])
}

// lists compares a listing.
func (p *probe) lists(
	ctx context.Context, prefix, after string, limit int, want []string,
) error {
	listed, err := p.store.List(ctx, p.prefix+prefix, after, limit)
	if err != nil {
		return err
	}
	for i := range max(len(listed), len(want)) {
		if i >= len(listed) || i >= len(want) || listed[i].Name != want[i] {
			return unfit("a listing is stale, out of order, or other than asked for")
		}
	}
	return nil
}

// deletion deletes what the probe has stored.
func (p *probe) deletion(ctx context.Context) error {
	if err := p.store.Delete(ctx, p.names); err != nil {
		return err
	}
	if _, err := p.store.Get(ctx, p.names[0], 0, -1); !errors.Is(err, ErrNotExist) {
		if err != nil {
			return err
		}
		return unfit("an object that was deleted can still be read")
	}
	return p.lists(ctx, "", "", 100, nil)
}
