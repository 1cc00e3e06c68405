package replicatest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

// account is a record whose rule is that its balance is the sum of its deposits.
type account struct {
	ID       string           `stoat:"id,key"`
	Balance  int64            `stoat:"balance,merge=sum"`
	Deposits map[string]int64 `stoat:"deposits,merge=set"`
}

// naive is the same for who has not thought of replicas: the last balance wins.
type naive struct {
	ID       string           `stoat:"id,key"`
	Balance  int64            `stoat:"balance"`
	Deposits map[string]int64 `stoat:"deposits,merge=set"`
}

func newAccount[T account | naive](id string) *T {
	v := T(account{ID: id})
	return &v
}

// bank is an application with accounts.
func bank[T account | naive]() *App[*record.Collection[T]] {
	type accounts = *record.Collection[T]
	deposit := func(tx *stoat.Tx, s accounts, random *rand.Rand) error {
		id := fmt.Sprint("account ", random.IntN(2))
		v, err := s.Get(tx, id)
		if errors.Is(err, stoat.ErrNotFound) {
			v, err = newAccount[T](id), nil
		}
		if err != nil {
			return err
		}
		a := account(*v)
		amount := 1 + random.Int64N(9)
		a.Balance += amount
		if a.Deposits == nil {
			a.Deposits = map[string]int64{}
		}
		a.Deposits[fmt.Sprint(random.Uint64())] = amount
		changed := T(a)
		return s.Put(tx, &changed)
	}
	check := func(tx *stoat.Tx, s accounts) error {
		for v, err := range s.All(tx) {
			if err != nil {
				return err
			}
			a, sum := account(*v), int64(0)
			for _, amount := range a.Deposits {
				sum += amount
			}
			if sum != a.Balance {
				return fmt.Errorf("%s has %d after deposits of %d", a.ID, a.Balance, sum)
			}
		}
		return nil
	}
	return &App[accounts]{
		Open: func(_ *stoat.DB, space *replica.Space) (accounts, error) {
			return replica.Collection[T](space, "accounts", nil)
		},
		Operations: []Operation[accounts]{
			{"deposit", deposit},
			{"think better of it", func(tx *stoat.Tx, s accounts, random *rand.Rand) error {
				return errors.Join(deposit(tx, s, random), ErrSkip)
			}},
		},
		Check: check,
	}
}

func TestRun_passesAnApplicationWhoseRulesHold(t *testing.T) {
	Run(t, bank[account](), nil)
}

// told is a test that only takes down what failed.
type told struct {
	testing.TB
	failed string
}

func (t *told) Fatalf(format string, args ...any) {
	t.failed = fmt.Sprintf(format, args...)
	panic(t)
}

func (t *told) Helper() {}

func TestRun_showsAShortHistoryThatBreaksARule(t *testing.T) {
	tell := &told{TB: t}
	func() {
		defer func() { _ = recover() }()
		Run(tell, bank[naive](), &Options{Seed: 1})
	}()
	if !strings.Contains(tell.failed, "after deposits of") ||
		!strings.Contains(tell.failed, "Seed: ") {
		t.Fatalf("it fails with %q", tell.failed)
	}
	if n := strings.Count(tell.failed, "replica "); n > 8 {
		t.Errorf("the history is not short: %s", tell.failed)
	}
}

func TestRun_failsWithTheErrorOfAnOperation(t *testing.T) {
	app := bank[account]()
	broken := errors.New("it is broken")
	app.Operations[1].Do = func(*stoat.Tx, *record.Collection[account], *rand.Rand) error {
		return broken
	}
	h := history{2, []step{{action: operate}, {action: operate, operation: 1}}}
	if err := play(t, app, h); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestShrink_keepsOnlyWhatMatters(t *testing.T) {
	failure := errors.New("a restore after a backup")
	play := func(h history) error {
		i := slices.IndexFunc(h.steps, func(s step) bool { return s.action == backup })
		if i >= 0 && slices.ContainsFunc(h.steps[i:], func(s step) bool { return s.action == restore }) {
			return failure
		}
		return nil
	}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		h := newHistory(random, Options{Replicas: 3, Steps: 60}, 2)
		if play(h) == nil {
			continue
		}
		if got, err := shrink(h, failure, play); len(got.steps) != 2 || err != failure {
			t.Errorf("seed %d: %d steps, %v", seed, len(got.steps), err)
		}
	}
}

// Each kind of step alone, between changes on both sides.
func TestPlay_survivesEveryStep(t *testing.T) {
	for _, s := range []step{
		{action: meet, peer: 1}, {action: double, peer: 1}, {action: restart},
		{action: jump, number: jumpMax}, {action: jump, number: -jumpMax}, {action: restore},
		{action: cut, peer: 1}, {action: cut, peer: 1, number: 1}, {action: cut, peer: 1, number: 700},
	} {
		h := history{2, []step{
			{action: operate, seed: 1}, {action: backup}, {action: operate, seed: 2},
			{action: meet, peer: 1}, {action: operate, seed: 3}, {action: operate, replica: 1, seed: 4},
			s,
			{action: operate, seed: 5}, {action: operate, replica: 1, seed: 6},
		}}
		if err := play(t, bank[account](), h); err != nil {
			t.Errorf("%s%v", h.text(bank[account]().names()), err)
		}
	}
}
