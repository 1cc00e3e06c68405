package remotetest_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

func TestChecks_catchWrongStores(t *testing.T) {
	for _, w := range wrongStores() {
		t.Run(w.name, func(t *testing.T) {
			for _, c := range remotetest.Checks() {
				err := c.Try(t.Context(), w.store(), rand.New(rand.NewPCG(1, 1)))
				if err != nil {
					t.Logf("caught by %q: %.200v", c.Name, err)
					return
				}
			}
			t.Error("no check catches it")
		})
	}
}

// Each check must be able to fail, or it checks nothing.
func TestChecks_areEachNeeded(t *testing.T) {
	caught := map[string]bool{}
	for _, w := range wrongStores() {
		for _, c := range remotetest.Checks() {
			if !caught[c.Name] {
				err := c.Try(t.Context(), w.store(), rand.New(rand.NewPCG(1, 1)))
				caught[c.Name] = err != nil
			}
		}
	}
	for _, c := range remotetest.Checks() {
		if !caught[c.Name] {
			t.Errorf("%q finds no fault in any wrong store", c.Name)
		}
	}
	if n := len(remotetest.Checks()); n < 25 {
		t.Errorf("there are %d checks", n)
	}
}

func TestProbe_refusesWrongStores(t *testing.T) {
	for _, w := range wrongStores() {
		t.Run(w.name, func(t *testing.T) {
			err := objstore.Probe(t.Context(), w.store())
			if w.probed && err == nil {
				t.Error("the probe finds it fit")
			}
			t.Log(err)
		})
	}
}

func TestProbe_saysWhatIsLacking(t *testing.T) {
	err := objstore.Probe(t.Context(), &overwriting{memstore.New()})
	if !errors.Is(err, objstore.ErrUnfit) {
		t.Error(err)
	}
}

func TestProbe_leavesNothing(t *testing.T) {
	for _, s := range []objstore.Store{memstore.New(), &overwriting{memstore.New()}} {
		_ = objstore.Probe(t.Context(), s)
		listed, err := s.List(t.Context(), "", "", 100)
		if err != nil || len(listed) > 0 {
			t.Errorf("left are %v: %v", listed, err)
		}
	}
}
