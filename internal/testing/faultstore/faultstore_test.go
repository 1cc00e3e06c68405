package faultstore_test

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/remotetest"
)

func newServer() *faultstore.Server { return faultstore.NewServer(memstore.New()) }

// always returns a plan of one fate.
func always(fate faultstore.Fate) faultstore.Plan {
	return func(faultstore.Request) faultstore.Fate { return fate }
}

// body returns what an object holds, or "" if there is none.
func body(t *testing.T, s *faultstore.Server, name string) string {
	t.Helper()
	got, err := s.Client(nil).Get(t.Context(), name, 0, -1)
	if err != nil && !errors.Is(err, objstore.ErrNotExist) {
		t.Fatal(err)
	}
	return string(got)
}

func TestClient_conformsWithoutAPlan(t *testing.T) {
	remotetest.Run(t, func(*testing.T) objstore.Store { return newServer().Client(nil) })
}

func TestClient_hasTheFateOfThePlan(t *testing.T) {
	for _, c := range []struct {
		fate  faultstore.Fate
		err   error
		now   string // what the object holds after the request
		later string // and after delivery
	}{
		{faultstore.Answered, nil, "x", "x"},
		{faultstore.Failed, faultstore.ErrFailed, "", ""},
		{faultstore.Unavailable, objstore.ErrUnknown, "", ""},
		{faultstore.AnswerLost, objstore.ErrUnknown, "x", "x"},
		{faultstore.Late, objstore.ErrUnknown, "", "x"},
	} {
		s := newServer()
		client := s.Client(always(c.fate))
		err := client.Create(t.Context(), "a", []byte("x"))
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("fate %d: %v, want %v", c.fate, err, c.err)
		}
		if got := body(t, s, "a"); got != c.now {
			t.Errorf("fate %d: holds %q at once, want %q", c.fate, got, c.now)
		}
		client.Crash()
		for s.UnderWay() > 0 {
			if err := s.Deliver(0); err != nil {
				t.Fatal(err)
			}
		}
		if got := body(t, s, "a"); got != c.later {
			t.Errorf("fate %d: holds %q later, want %q", c.fate, got, c.later)
		}
	}
}

func TestDeliver_doesNotOverwrite(t *testing.T) {
	s := newServer()
	_ = s.Client(always(faultstore.Late)).Create(t.Context(), "a", []byte("late"))
	if err := s.Client(nil).Create(t.Context(), "a", []byte("other")); err != nil {
		t.Fatal(err)
	}
	if err := s.Deliver(0); err != nil {
		t.Fatal(err)
	}
	if got := body(t, s, "a"); got != "other" {
		t.Errorf("the object holds %q", got)
	}
}

func TestClient_doesNothingAfterACrash(t *testing.T) {
	s := newServer()
	var client *faultstore.Client
	client = s.Client(func(r faultstore.Request) faultstore.Fate {
		if r.Index == 1 {
			client.Crash()
		}
		return faultstore.Answered
	})
	if err := client.Create(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c"} {
		if err := client.Create(t.Context(), name, nil); !errors.Is(err, faultstore.ErrCrashed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := client.Count(); got != 2 {
		t.Errorf("%d requests, want 2: none after the crash", got)
	}
	listed, err := s.Client(nil).List(t.Context(), "", "", 10)
	if err != nil || len(listed) != 1 {
		t.Errorf("the store holds %v: %v", listed, err)
	}
}

func TestCount_isByOp(t *testing.T) {
	client := newServer().Client(nil)
	_ = client.Create(t.Context(), "a", nil)
	_, _ = client.Get(t.Context(), "a", 0, -1)
	_, _ = client.List(t.Context(), "", "", 1)
	_ = client.Delete(t.Context(), []string{"a"})
	got := []int{
		client.Count(), client.Count(faultstore.Create), client.Count(faultstore.Put),
		client.Count(faultstore.Get, faultstore.List), client.Count(faultstore.Delete),
	}
	for i, want := range []int{4, 1, 0, 2, 1} {
		if got[i] != want {
			t.Errorf("count %d is %d, want %d", i, got[i], want)
		}
	}
}
