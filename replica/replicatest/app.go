package replicatest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// App is an application under test. S is what it keeps of a replica, for instance a struct with its
// collections.
type App[S any] struct {
	// Open opens the collections of a replica. It is called whenever the replica starts.
	Open func(db *stoat.DB, space *replica.Space) (S, error)
	// Operations are what users do. They are chosen with equal chances; list one twice to have it
	// twice as often.
	Operations []Operation[S]
	// Check returns an error if the records of a replica break a rule of the application. It is
	// called in every state that users can see, also of replicas that have not heard of all changes.
	// It may be nil.
	Check func(tx *stoat.Tx, s S) error
	// Grant gives the devices their rights, on the replica that founds the space. If it is nil, all
	// of them may write everything.
	Grant func(tx *stoat.Tx, space *replica.Space, devices []replica.DeviceID) error
}

// Operation is something that a user does.
type Operation[S any] struct {
	Name string
	// Do does it, in a transaction. It must take all its choices from random. If it returns an error
	// that is [ErrSkip] or [replica.ErrNotAllowed], the transaction is rolled back; any other error
	// fails the test.
	Do func(tx *stoat.Tx, s S, random *rand.Rand) error
}

// ErrSkip says that an operation makes no sense in the state that it found.
var ErrSkip = errors.New("the operation does not apply")

// Options says how much [Run] does. The zero value of a field stands for its default.
type Options struct {
	Replicas  int    // of each history, at least 2; default 3
	Steps     int    // of each history; default 40
	Histories int    // default 20, and 5 in short tests
	Seed      uint64 // of the histories; default: a random one
}

// withDefaults returns the options with all fields set.
func (o *Options) withDefaults() Options {
	all := Options{Replicas: 3, Steps: 40, Histories: 20, Seed: rand.Uint64()}
	if testing.Short() {
		all.Histories = 5
	}
	if o == nil {
		return all
	}
	if o.Replicas != 0 {
		all.Replicas = max(2, o.Replicas)
	}
	if o.Steps != 0 {
		all.Steps = o.Steps
	}
	if o.Histories != 0 {
		all.Histories = o.Histories
	}
	if o.Seed != 0 {
		all.Seed = o.Seed
	}
	return all
}

// Run plays random histories of an application, and fails the test at the first in which a rule is
// broken or replicas do not come together.
func Run[S any](t testing.TB, app *App[S], opts *Options) {
	t.Helper()
	o := opts.withDefaults()
	for i := range o.Histories {
		seed := o.Seed + uint64(i)
		h := newHistory(rand.New(rand.NewPCG(seed, 0)), o, len(app.Operations))
		err := play(t, app, h)
		if err == nil {
			continue
		}
		shortest, err := shrink(h, err, func(h history) error { return play(t, app, h) })
		t.Fatalf("Options{Replicas: %d, Steps: %d, Seed: %d}: %v\nThis fails after\n%s",
			o.Replicas, o.Steps, seed, err, shortest.text(app.names()))
	}
}

// names returns the names of the operations.
func (a *App[S]) names() []string {
	var names []string
	for _, o := range a.Operations {
		names = append(names, o.Name)
	}
	return names
}

// shrink leaves out steps of a history that fails as long as it still fails. It returns the
// shortest history found, and its error.
func shrink(h history, failure error, play func(history) error) (history, error) {
	const most = 200 // histories to play
	tried := 0
	for size := len(h.steps) / 2; size > 0; {
		shorter := false
		for i := 0; i+size <= len(h.steps) && tried < most; {
			tried++
			left := history{h.replicas, slices.Delete(slices.Clone(h.steps), i, i+size)}
			if err := play(left); err != nil {
				h, failure, shorter = left, err, true
				continue
			}
			i += size
		}
		if size = min(size, len(h.steps)); !shorter || size > len(h.steps)/2 {
			size /= 2
		}
	}
	return h, failure
}
