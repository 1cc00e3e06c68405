package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	racers     = 64 // clients of one name
	raceRounds = 8
	tornBytes  = 64 << 10 // of objects that are read while they are stored
)

func raceChecks() []Check {
	return []Check{
		{"of 64 clients that create one name, one succeeds", racingCreates},
		{"of clients that create many names, one succeeds for each", racingNames},
		{"an object is read whole or not at all while it is created", tornCreates},
		{"an object is read whole or not at all while it is put", tornPuts},
		{"racing Puts leave one whole object", racingPuts},
		{"a listing holds what was stored before it began", racingLists},
	}
}

// together runs n calls at the same time and returns their errors joined.
func together(n int, call func(i int) error) error {
	errs := make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	all.Wait()
	return errors.Join(errs...)
}

// race has clients create one name at the same time, and returns the one that succeeded.
func race(ctx context.Context, s objstore.Store, name string, clients int) (winner int, err error) {
	won := make([]bool, clients)
	err = together(clients, func(i int) error {
		err := s.Create(ctx, name, racerBody(name, i))
		won[i] = err == nil
		if errors.Is(err, objstore.ErrExists) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	winners := 0
	for i, w := range won {
		if w {
			winner = i
			winners++
		}
	}
	if winners != 1 {
		return 0, fmt.Errorf("%d of %d clients have created %s", winners, clients, name)
	}
	return winner, wantBody(ctx, s, name, racerBody(name, winner))
}

func racerBody(name string, i int) []byte { return fmt.Appendf(nil, "%s by client %d", name, i) }

func racingCreates(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	for round := range raceRounds {
		if _, err := race(ctx, s, fmt.Sprintf("log/%d", round), racers); err != nil {
			return err
		}
	}
	return nil
}

func racingNames(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return together(racers/4, func(i int) error {
		_, err := race(ctx, s, fmt.Sprintf("log/%d", i), 4)
		return err
	})
}

// torn reads objects while they are stored, and once afterwards. Each has one repeated byte, so
// half of one is noticed.
func torn(ctx context.Context, s objstore.Store, store func(name string, body []byte) error) error {
	return together(raceRounds, func(i int) error {
		name := fmt.Sprintf("data/%d", i)
		body := bytes.Repeat([]byte{byte('a' + i)}, tornBytes)
		var stored atomic.Bool
		return together(2, func(part int) error {
			if part == 0 {
				defer stored.Store(true)
				return store(name, body)
			}
			for {
				last := stored.Load()
				got, err := s.Get(ctx, name, 0, -1)
				switch {
				case err != nil && !errors.Is(err, objstore.ErrNotExist):
					return err
				case err == nil && !bytes.Equal(got, body):
					return fmt.Errorf("%s is read with %d of %d bytes, or others", name, len(got),
						len(body))
				case err == nil || last:
					return err
				}
			}
		})
	})
}

func tornCreates(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return torn(ctx, s, func(name string, body []byte) error { return s.Create(ctx, name, body) })
}

func tornPuts(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return torn(ctx, s, func(name string, body []byte) error {
		return s.Put(ctx, name, bytes.NewReader(body), int64(len(body)))
	})
}

func racingPuts(ctx context.Context, s objstore.Store, rng *rand.Rand) error {
	body := randomBytes(rng, tornBytes)
	err := together(16, func(int) error {
		return s.Put(ctx, "state/1", bytes.NewReader(body), tornBytes)
	})
	if err != nil {
		return err
	}
	return wantBody(ctx, s, "state/1", body)
}

func racingLists(ctx context.Context, s objstore.Store, _ *rand.Rand) error {
	return together(8, func(i int) error {
		for n := range 10 {
			name := fmt.Sprintf("log/%d-%02d", i, n)
			if err := s.Create(ctx, name, []byte(name)); err != nil {
				return err
			}
			listed, err := s.List(ctx, fmt.Sprintf("log/%d-", i), "", 100)
			if err != nil {
				return err
			}
			if len(listed) != n+1 || listed[n].Name != name {
				return fmt.Errorf("%s was created, and the listing is %v", name, listed)
			}
		}
		return nil
	})
}
