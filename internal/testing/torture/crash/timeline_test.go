package crash

import (
	"errors"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestTimeline_promisesWhatWasAcknowledged(t *testing.T) {
	l := NewTimeline("empty")
	wantPromises(t, l, Promise{0, 0}, Promise{0, 0})
	l.Ack(l.Commit("durable"), true)
	l.Ack(l.Commit("returned"), false)
	begun := l.Commit("begun")
	wantPromises(t, l, Promise{1, 3}, Promise{2, 3})
	if l.Acked() != 2 || l.Begun() != begun || l.Newest() != "begun" || l.State(1) != "durable" {
		t.Errorf("%d has returned, %d has begun: %q after %q", l.Acked(), l.Begun(), l.Newest(),
			l.State(1))
	}
	l.Ack(1, false) // late, beside another
	wantPromises(t, l, Promise{1, 3}, Promise{2, 3})
}

func wantPromises(t *testing.T, l *Timeline[string], crashed, killed Promise) {
	t.Helper()
	for kept := range Kept(4) {
		want := crashed
		if kept == All {
			want = killed
		}
		if got := l.Promised(kept); got != want {
			t.Errorf("promised when %s is kept: %v, want %v", kept, got, want)
		}
	}
}

func TestTimeline_syncMakesDurableWhatReturnedBefore(t *testing.T) {
	l := NewTimeline("empty")
	l.Ack(l.Commit("before"), false)
	err := errors.New("input/output error")
	if got := l.Sync(func() error { return err }); got != err {
		t.Errorf("error %v, want %v", got, err)
	}
	wantPromises(t, l, Promise{0, 1}, Promise{1, 1})
	if err := l.Sync(func() error { l.Ack(l.Commit("meanwhile"), false); return nil }); err != nil {
		t.Fatal(err)
	}
	wantPromises(t, l, Promise{1, 2}, Promise{2, 2})
}

func TestTimeline_settleForgetsWhatNeverWas(t *testing.T) {
	l := NewTimeline("empty")
	l.Commit("first")
	l.Commit("failed")
	seen := l.Until(2)
	l.Settle(1)
	if l.Begun() != 1 || l.Newest() != "first" {
		t.Errorf("commit %d is the newest, %q", l.Begun(), l.Newest())
	}
	l.Commit("second")
	if want := []string{"empty", "first", "failed"}; !slices.Equal(seen, want) {
		t.Errorf("who has seen %q sees %q now", want, seen)
	}
	if want := []string{"empty", "first", "second"}; !slices.Equal(l.Until(2), want) {
		t.Errorf("states %q, want %q", l.Until(2), want)
	}
}

func TestTimeline_cutIsOfWhatWasPromised(t *testing.T) {
	disk, l := memfs.NewCrashable(), NewTimeline("empty")
	create(t, disk, "a")
	l.Ack(l.Commit("a"), false)
	for kept, want := range map[Kept]Promise{None: {0, 1}, All: {1, 1}} {
		left, p := l.Cut(disk, kept, nil)
		if files := names(t, left); p != want || len(files) != want.Oldest {
			t.Errorf("when %s is kept, %q are left and %v is promised, want %v", kept, files, p, want)
		}
	}
}
