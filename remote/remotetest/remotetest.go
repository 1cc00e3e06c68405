// Package remotetest tests whether a [objstore.Store] keeps its contract. A store's own test is
//
//	remotetest.Run(t, func(t *testing.T) objstore.Store { return newEmptyStore(t) })
//
// Each [Check] is one sentence about stores, and tries to refute it on an empty store. Checks that
// draw random numbers print their seed. The package's own tests show that stores which are wrong in
// known ways are caught.
package remotetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/remote/objstore"
)

// Check is one promise of a store's contract.
type Check struct {
	Name string
	// Try returns an error if the store, which is empty, breaks the promise. All randomness is that
	// of rng.
	Try func(ctx context.Context, s objstore.Store, rng *rand.Rand) error
}

// Checks returns all checks.
func Checks() []Check {
	return slices.Concat(createChecks(), raceChecks(), getChecks(), listChecks(), deleteChecks(),
		nameChecks(), contextChecks(), sizeChecks())
}

// sizeChecks come last, because they take the longest.
func sizeChecks() []Check {
	return []Check{
		{"an object of 8 MiB is stored and read in parts", largeObject},
		{"more objects than providers list at once are listed", listMany},
	}
}

// Run runs each check as a subtest, on a store of its own. newStore returns an empty one, which it
// may close in a cleanup of t.
func Run(t *testing.T, newStore func(t *testing.T) objstore.Store) {
	t.Helper()
	RunSeed(t, rand.Uint64(), newStore)
}

// RunSeed is [Run] with the seed of another run, to repeat that.
func RunSeed(t *testing.T, seed uint64, newStore func(t *testing.T) objstore.Store) {
	t.Helper()
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Try(t.Context(), newStore(t), rand.New(rand.NewPCG(seed, 1))); err != nil {
				t.Errorf("%v (repeat by RunSeed with %d)", err, seed)
			}
		})
	}
}

// randomBytes returns n bytes.
func randomBytes(rng *rand.Rand, n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// wantError returns an error unless err matches want.
func wantError(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: the error is %v, want %v", what, err, want)
	}
	return nil
}

// wantBody returns an error unless an object holds exactly the bytes.
func wantBody(ctx context.Context, s objstore.Store, name string, want []byte) error {
	got, err := s.Get(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%s holds %.40q of %d bytes, want %.40q of %d", name, got, len(got), want,
			len(want))
	}
	return nil
}

// wantNames returns an error unless a listing holds exactly the names, in their order.
func wantNames(what string, listed []objstore.Object, want []string) error {
	var got []string
	for _, o := range listed {
		got = append(got, o.Name)
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s: got %.300q, want %.300q", what, got, want)
	}
	return nil
}

// createAll creates objects that hold their names.
func createAll(ctx context.Context, s objstore.Store, names ...string) error {
	for _, name := range names {
		if err := s.Create(ctx, name, []byte(name)); err != nil {
			return err
		}
	}
	return nil
}
