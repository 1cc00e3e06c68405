package commit

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// durable is a pipeline with syncs, as by default.
var durable = Config{Reach: wal.Durable, KeptBytes: 1 << 20}

func TestPipeline_publishesACommitOnlyAfterItsSync(t *testing.T) {
	var d *database
	early := false
	d = newDatabase(t, hooked(faultfs.Sync, func() error {
		early = early || len(d.published) > 0
		return nil
	}), durable)
	commit := d.append(t, "a")
	d.wantPublished(t)
	ok(t, d.Wait(commit))
	d.wantPublished(t, 1)
	if early || d.words != 1 {
		t.Errorf("published before the sync: %v; with %d words, want 1", early, d.words)
	}
}

func TestPipeline_sharesSyncsAmongThoseWhoWait(t *testing.T) {
	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := newDatabase(t, hooked(faultfs.Sync, func() error {
		once.Do(func() { close(syncing); <-release })
		return nil
	}), durable)
	var waiting sync.WaitGroup
	wait := func(commit uint64) {
		waiting.Go(func() {
			if err := d.Wait(commit); err != nil {
				t.Error(err)
			}
		})
	}
	wait(d.append(t, "a"))
	<-syncing
	for range 100 {
		wait(d.append(t, "b"))
	}
	close(release)
	waiting.Wait()
	if n := d.Syncs.Load(); n != 2 {
		t.Errorf("%d syncs, want 2", n)
	}
	d.wantPublished(t, 1, 101)
}

func TestPipeline_publishesInOrderBesideManyWhoWait(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	var waiting sync.WaitGroup
	for range 1000 {
		commit := d.append(t, "a")
		waiting.Go(func() {
			if err := d.Wait(commit); err != nil {
				t.Error(err)
			}
		})
	}
	waiting.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.published); !slices.IsSorted(d.published) || d.published[n-1] != 1000 {
		t.Errorf("published %v", d.published)
	}
}

func TestPipeline_withoutSyncsPublishesWhatIsWritten(t *testing.T) {
	var syncs atomic.Int64
	files := hooked(faultfs.Sync, func() error { syncs.Add(1); return nil })
	d := newDatabase(t, files, Config{Reach: wal.Written})
	d.commit(t, "a")
	d.wantPublished(t, 1)
	wantLogged(t, files, "a")
	if n := syncs.Load(); n > 0 {
		t.Errorf("%d syncs, want none", n)
	}
	ok(t, d.Sync())
	if n := syncs.Load(); n == 0 {
		t.Error("Sync did not sync")
	}
}

func TestPipeline_thatIsVolatilePublishesAtOnce(t *testing.T) {
	d := newDatabase(t, memfs.New(), Config{Volatile: true})
	edit := d.edit("a", "b")
	d.Stream(edit)
	commit, _ := d.Append(edit)
	d.wantPublished(t, 1)
	ok(t, d.Wait(commit))
	ok(t, d.Sync())
	if d.words != 2 || d.Newest() != 1 || d.NeedsLog() || d.LogSize() != 0 {
		t.Errorf("%d words in %d commits, and a log of %d bytes", d.words, d.Newest(), d.LogSize())
	}
}

func TestPipeline_afterAFailedSyncPublishesNoMore(t *testing.T) {
	var broken atomic.Bool
	files := hooked(faultfs.Sync, func() error {
		if broken.Load() {
			return errBroken
		}
		return nil
	})
	d := newDatabase(t, files, durable)
	d.commit(t, "a")
	broken.Store(true)
	if err := d.Wait(d.append(t, "b")); !errors.Is(err, errBroken) {
		t.Errorf("a commit whose sync fails gives %v", err)
	}
	broken.Store(false)
	if err := d.Sync(); !errors.Is(err, errBroken) {
		t.Errorf("a later sync gives %v", err)
	}
	if err := d.Reserve(1); !errors.Is(err, errBroken) {
		t.Errorf("a later reservation gives %v", err)
	}
	d.wantPublished(t, 1)
	ok(t, d.Wait(1))
}

func TestPipeline_writesNothingOncePoisonedByOthers(t *testing.T) {
	var writes atomic.Int64
	d := newDatabase(t, hooked(faultfs.WriteAt, func() error { writes.Add(1); return nil }), durable)
	d.commit(t, "a")
	commit, before := d.append(t, "b"), writes.Load()
	_ = d.config.Poison(errBroken)
	if err := d.Wait(commit); !errors.Is(err, errBroken) {
		t.Errorf("the commit gives %v", err)
	}
	if n := writes.Load() - before; n > 0 {
		t.Errorf("%d writes", n)
	}
	d.wantPublished(t, 1)
}

func TestPipeline_publishesNothingInAFolderThatIsNotItsOwn(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.disowned = vfs.ErrReplaced
	if err := d.Wait(d.append(t, "a")); !errors.Is(err, vfs.ErrReplaced) {
		t.Errorf("the commit gives %v", err)
	}
	d.wantPublished(t)
}

func TestReserve_onAFullDiskFailsWithoutHarm(t *testing.T) {
	quota := faultfs.NewQuota(1 << 10)
	d := newDatabase(t, faultfs.New(memfs.New(), quota.Hook), durable)
	if err := d.Reserve(1 << 20); !errors.Is(err, vfs.ErrNoSpace) || d.poison != nil {
		t.Errorf("error %v, poisoned: %v", err, d.poison)
	}
	quota.Add(16 << 20)
	d.commit(t, "a")
	d.wantPublished(t, 1)
}

func TestStream_publishesNothingThatIsNotDurable(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	first := d.append(t, "first") // and before it waits for its sync, a large transaction comes
	large := d.edit("large")
	d.Stream(large)
	d.jobs.Wait()
	if d.written != first || d.synced >= first {
		t.Errorf("written %d, synced %d of commit %d", d.written, d.synced, first)
	}
	d.wantPublished(t)
	ok(t, d.Wait(first))
	d.wantPublished(t, first)
	large.PutUntil([]byte("more"), []byte("more"), 0)
	commit, _ := d.Append(large)
	ok(t, d.Wait(commit))
	wantLogged(t, d.files, "first", "large+more")
}

func TestStream_duringASyncWaitsForTheNextLeader(t *testing.T) {
	syncing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := newDatabase(t, hooked(faultfs.Sync, func() error {
		once.Do(func() { close(syncing); <-release })
		return nil
	}), durable)
	first := d.append(t, "first")
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := d.Wait(first); err != nil {
			t.Error(err)
		}
	})
	<-syncing
	edit := d.edit("large")
	d.Stream(edit)
	close(release)
	waiting.Wait()
	commit, _ := d.Append(edit)
	ok(t, d.Wait(commit))
	wantLogged(t, d.files, "first", "large")
}

func TestRollback_leavesNothingOfWhatWasStreamed(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "first")
	for range 3 {
		edit := d.edit("gone")
		d.Stream(edit)
		d.Rollback()
		edit.Rollback()
	}
	d.commit(t, "later")
	wantLogged(t, d.files, "first", "later")
	d.wantPublished(t, 1, 2)
}

func TestRollback_writesWhatWasAppendedBeforeWithoutASync(t *testing.T) {
	var syncs atomic.Int64
	d := newDatabase(t, hooked(faultfs.Sync, func() error { syncs.Add(1); return nil }), durable)
	first := d.append(t, "first")
	edit := d.edit("gone")
	d.Stream(edit)
	d.Rollback()
	edit.Rollback()
	if d.written != first || syncs.Load() > 0 {
		t.Errorf("written %d of commit %d, with %d syncs", d.written, first, syncs.Load())
	}
	d.wantPublished(t)
	ok(t, d.Wait(first))
	d.wantPublished(t, first)
	wantLogged(t, d.files, "first")
}

func TestSkip_makesACommitOfTablesTheNewest(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "a")
	ok(t, d.EndLog().Close())
	d.Skip(2)
	ok(t, d.Wait(2)) // without a log
	ok(t, d.Sync())
	d.startLog(t, 2)
	d.commit(t, "b")
	d.wantPublished(t, 1, 3)
}

func TestEndLog_waitsForTheLeader(t *testing.T) {
	syncing, release := make(chan struct{}), make(chan struct{})
	d := newDatabase(t, hooked(faultfs.Sync, func() error {
		close(syncing)
		<-release
		return nil
	}), durable)
	var waiting sync.WaitGroup
	commit := d.append(t, "a")
	waiting.Go(func() {
		if err := d.Wait(commit); err != nil {
			t.Error(err)
		}
	})
	<-syncing
	ended := make(chan *wal.Segment)
	go func() { ended <- d.EndLog() }()
	select {
	case <-ended:
		t.Error("the log ended while it was synced")
	default:
	}
	close(release)
	log := <-ended
	waiting.Wait()
	d.wantPublished(t, 1)
	if log.Durable() != log.Size() || !d.NeedsLog() || d.EndLog() != nil {
		t.Errorf("%d of %d bytes are durable", log.Durable(), log.Size())
	}
	ok(t, log.Close())
}

func TestWritten_tellsWhatIsInTheFile(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	d.commit(t, "a", "b")
	d.append(t, "c")
	size, through, okay := d.Written()
	if through != 2 || size >= d.LogSize() || !okay {
		t.Errorf("%d bytes through commit %d, %v; the log has %d bytes", size, through, okay, d.LogSize())
	}
	ok(t, d.Sync())
	if size, through, _ = d.Written(); through != 3 || size != d.LogSize() {
		t.Errorf("%d bytes through commit %d; the log has %d bytes", size, through, d.LogSize())
	}
	ok(t, d.EndLog().Close())
	if _, _, okay = d.Written(); okay {
		t.Error("something is written in no log")
	}
}

func TestLogNamed_sparesTheFirstSyncTheFolder(t *testing.T) {
	for _, named := range []bool{false, true} {
		folders := 0
		d := newDatabase(t, hooked(faultfs.SyncDir, func() error { folders++; return nil }), durable)
		if named {
			d.LogNameIsDurable()
		}
		d.commit(t, "a", "b")
		if want := map[bool]int{false: 1, true: 0}[named]; folders != want {
			t.Errorf("named %v: the folder was synced %d times, want %d", named, folders, want)
		}
	}
}

func TestPipeline_countsTheBytesOfFrames(t *testing.T) {
	d := newDatabase(t, memfs.New(), durable)
	start := d.LogSize()
	edit := d.edit(strings.Repeat("a", 1000))
	d.Stream(edit)
	edit.PutUntil([]byte("b"), nil, 0)
	d.Append(edit)
	ok(t, d.Sync())
	if got, want := d.LogBytes.Load(), uint64(d.LogSize()-start); got != want || got < 2000 {
		t.Errorf("%d bytes are counted, the log has grown by %d", got, want)
	}
}
