package hlc

import (
	"errors"
	"math"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func TestNext_growsWhateverTheClockDoes(t *testing.T) {
	last := Time(0)
	for i, now := range []time.Time{
		noon, noon, noon.Add(-time.Hour), noon.Add(time.Millisecond), time.Unix(-1, 0), noon,
	} {
		next, err := Next(last, now)
		if err != nil || next <= last {
			t.Fatalf("step %d: %d after %d, %v", i, next, last, err)
		}
		last = next
	}
	if got := last.Time(); !got.Equal(noon.Add(time.Millisecond)) {
		t.Errorf("the clock went back and the time is %s", got)
	}
}

func TestNext_carriesAFullCounter(t *testing.T) {
	last := At(noon) | 1<<counterBits - 1
	next, err := Next(last, noon)
	if err != nil || next != At(noon.Add(time.Millisecond)) {
		t.Errorf("got %d, %v", next, err)
	}
}

func TestNext_endsAtTheLastTime(t *testing.T) {
	if _, err := Next(end, noon); !errors.Is(err, ErrEnd) {
		t.Errorf("got %v", err)
	}
	if got, err := Next(end-1, noon); got != end || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestAt_staysWithinItsBits(t *testing.T) {
	if got := At(time.UnixMilli(math.MaxInt64)); got != end {
		t.Errorf("got %d", got)
	}
	if got := At(time.Unix(-5, 0)); got != 0 {
		t.Errorf("got %d", got)
	}
}

func TestAhead_beginsAfterFiveMinutes(t *testing.T) {
	limit := At(noon.Add(Tolerance))
	if limit.Ahead(noon) || (limit | 1<<counterBits - 1).Ahead(noon) {
		t.Error("a time within the tolerance must not wait")
	}
	if !At(noon.Add(Tolerance + time.Millisecond)).Ahead(noon) {
		t.Error("a time beyond the tolerance must wait")
	}
}
