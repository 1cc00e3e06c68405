package settle

import (
	"errors"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/machine"
)

const ms = time.Millisecond

// fakeTime is a clock that only sleeping moves on, and a process that does what work says: it is
// given the time and returns what the process has used by then.
type fakeTime struct {
	at   time.Duration
	work func(at time.Duration) machine.Usage
}

func (f *fakeTime) settler() Settler {
	return Settler{
		Quiet: 200 * ms,
		Step:  10 * ms,
		Limit: 3000 * ms,
		Meter: func() (machine.Usage, error) { return f.work(f.at), nil },
		Sleep: func(d time.Duration) { f.at += d },
		Now:   func() time.Time { return time.Unix(0, 0).Add(f.at) },
	}
}

func TestSettler_findsTheEndOfTheWork(t *testing.T) {
	for _, c := range []struct {
		name     string
		work     func(at time.Duration) machine.Usage
		from, to time.Duration // the work ends between
		endless  bool
	}{
		{"nothing to do", func(time.Duration) machine.Usage {
			return machine.Usage{CPU: time.Second, Written: 5}
		}, 0, 0, false},
		{"computing", func(at time.Duration) machine.Usage {
			return machine.Usage{CPU: min(at, 1000*ms)}
		}, 980 * ms, 1000 * ms, false},
		{"writing", func(at time.Duration) machine.Usage {
			return machine.Usage{Written: int64(min(at, 500*ms)/ms) << 20}
		}, 490 * ms, 500 * ms, false},
		{"pauses shorter than the wait", func(at time.Duration) machine.Usage {
			return machine.Usage{Written: int64(min(at, 900*ms)/(150*ms)) << 20}
		}, 900 * ms, 900 * ms, false},
		{"a pause longer than the wait", func(at time.Duration) machine.Usage {
			return machine.Usage{CPU: at / (300 * ms) * 100 * ms}
		}, 0, 0, false},
		{"little things now and then", func(at time.Duration) machine.Usage {
			return machine.Usage{CPU: at / (100 * ms) * 5 * ms, Written: int64(at/(100*ms)) << 12}
		}, 0, 0, false},
		{"no end", func(at time.Duration) machine.Usage {
			return machine.Usage{CPU: at}
		}, 2980 * ms, 3000 * ms, true},
	} {
		f := &fakeTime{work: c.work}
		worked, ended, err := f.settler().Wait()
		if err != nil || worked < c.from || worked > c.to || ended == c.endless {
			t.Errorf("%s: worked %v, ended %t: %v", c.name, worked, ended, err)
		}
		if want := min(worked+200*ms, 3000*ms); f.at != want {
			t.Errorf("%s: waited %v instead of %v", c.name, f.at, want)
		}
	}
}

func TestSettler_returnsTheErrorOfItsSource(t *testing.T) {
	broken := errors.New("no usage")
	for first := range 2 {
		f := &fakeTime{}
		s := f.settler()
		calls := 0
		s.Meter = func() (machine.Usage, error) {
			if calls++; calls > first {
				return machine.Usage{}, broken
			}
			return machine.Usage{}, nil
		}
		if _, _, err := s.Wait(); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
	}
}
