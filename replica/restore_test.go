package replica

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// newPeerIn makes a replica of a new space in a directory.
func newPeerIn(t *testing.T, dir string) *peer {
	t.Helper()
	p := &peer{t: t, now: noon, seed: [32]byte{1}}
	p.openDir(dir)
	var err error
	if p.space, err = Create(p.db, "team", p.options()); err != nil {
		t.Fatal(err)
	}
	p.open()
	return p
}

// copyIn opens the replica in another directory, which has a copy of the database.
func (p *peer) copyIn(dir string) *peer {
	p.t.Helper()
	c := &peer{t: p.t, now: p.now, seed: p.seed, branch: p.branch, copies: p.another()}
	c.family = p.family
	c.openDir(dir)
	var err error
	if c.space, err = Open(c.db, "team", c.options()); err != nil {
		p.t.Fatal(err)
	}
	c.open()
	return c
}

// another counts one more copy among the replicas that p belongs to, so that no two are alike.
func (p *peer) another() byte {
	if p.family == nil {
		p.family = new(byte)
	}
	*p.family++
	return *p.family
}

func (p *peer) openDir(dir string) {
	p.t.Helper()
	db, err := stoat.Open(dir, &stoat.Options{Sync: stoat.SyncNever})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = db.Close() })
	p.db = db
}

// A database that was restored writes a log of its own, and issues there what it had not sealed.
// Where the original has sealed that, too, it counts once.
func TestOpen_ofARestoredBackupBeginsALog(t *testing.T) {
	a := newPeerIn(t, filepath.Join(t.TempDir(), "db"))
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "sealed", Votes: 1})
	meet(t, a, b)
	a.edit(func(v *task) { v.Title, v.Votes = "not sealed", v.Votes+10 })
	backup := filepath.Join(t.TempDir(), "backup")
	if err := a.db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	restored := a.copyIn(backup)
	if restored.ownLog() == a.ownLog() {
		t.Error("the restored database continues the log of the original")
	}
	if got := restored.get(1); !reflect.DeepEqual(got, a.get(1)) {
		t.Errorf("the record became %+v", got)
	}
	log := restored.ownLog()
	if again := restored.copyOpen(); again.ownLog() != log {
		t.Error("it begins another log each time")
	}
	meet(t, restored, b)
	agree(t, restored, b)
	if got := b.get(1); got.Title != "not sealed" || got.Votes != 11 {
		t.Errorf("others have %+v", got)
	}
}

// copyOpen opens the space once more.
func (p *peer) copyOpen() *peer {
	p.t.Helper()
	s, err := Open(p.db, "team", p.options())
	if err != nil {
		p.t.Fatal(err)
	}
	return &peer{t: p.t, db: p.db, space: s, now: p.now}
}

// A database that cannot be written to opens its spaces all the same.
func TestOpen_ofAReadOnlyBackup(t *testing.T) {
	a := newPeerIn(t, filepath.Join(t.TempDir(), "db"))
	a.put(task{ID: 1, Title: "x"})
	backup := filepath.Join(t.TempDir(), "backup")
	if err := a.db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	db, err := stoat.Open(backup, &stoat.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s, err := Open(db, "team", a.options())
	if err != nil {
		t.Fatal(err)
	}
	if (&peer{t: t, db: db, space: s}).root() != a.root() {
		t.Error("it has another state")
	}
	other := a.options()
	other.Collections = []string{"others"}
	if _, err := Open(db, "team", other); !errors.Is(err, stoat.ErrReadOnly) ||
		!strings.Contains(err.Error(), "Collections") {
		t.Errorf("with other collections: %v", err)
	}
}

// What another device has written and not sealed is issued again by the one that opens the space.
func TestOpen_withAnotherDeviceKeepsWhatIsNotSealed(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Votes: 3})
	a.seed = [32]byte{77}
	s, err := Open(a.db, "team", a.options())
	if err != nil {
		t.Fatal(err)
	}
	a.space = s
	a.open()
	a.edit(func(v *task) { v.Votes++ })
	meet(t, a, b)
	agree(t, a, b)
	if got := b.get(1); got.Votes != 4 {
		t.Errorf("others have %+v", got)
	}
	if n := len(factsOf(b)); n != 4 { // two genesis entries, and two of data
		t.Errorf("%d entries", n)
	}
}

// A checkpoint that was not sealed leaves with the log that it was in, and so do votes: nobody else
// can know what they decide.
func TestOpen_ofARestoredBackupLeavesCheckpointsThatWereNotSealed(t *testing.T) {
	for _, voters := range []int{1, 2} {
		a := newPeerIn(t, filepath.Join(t.TempDir(), "db"))
		b := newPeer(t, a)
		a.update(func(tx *stoat.Tx) error {
			return a.space.Grant(tx, b.space.device.ID(), Write|Right(entry.RightCheckpoint))
		})
		agreeAfter(t, a, b)
		if voters == 2 { // b has a say, and votes when it has seen the checkpoint of a
			b.put(task{ID: 2})
			agreeAfter(t, a, b)
		}
		a.put(task{ID: 1, Title: "not sealed", Best: 5})
		must(t, a.checkpoint())
		backup := filepath.Join(t.TempDir(), "backup")
		if err := a.db.Backup(t.Context(), backup); err != nil {
			t.Fatal(err)
		}
		c := a.copyIn(backup)
		agreeAfter(t, c, b)
		if c.get(1) == nil || b.get(1) == nil {
			t.Errorf("%d voters: the record is lost", voters)
		}
		must(t, c.checkpoint())
		agreeAfter(t, c, b)
		b.put(task{ID: 3})
		agreeAfter(t, c, b)
		if c.covered() == nil || b.covered() == nil {
			t.Errorf("%d voters: a later checkpoint does not count", voters)
		}
	}
}

// A vote that was not sealed leaves with its log, too, and the device votes again.
func TestOpen_ofARestoredBackupLeavesVotesThatWereNotSealed(t *testing.T) {
	a := newPeerIn(t, filepath.Join(t.TempDir(), "db"))
	b := newPeer(t, a)
	a.update(func(tx *stoat.Tx) error {
		return a.space.Grant(tx, b.space.device.ID(), Write|Right(entry.RightCheckpoint))
	})
	agreeAfter(t, a, b)
	b.put(task{ID: 2})
	agreeAfter(t, a, b)
	a.put(task{ID: 3})
	agreeAfter(t, a, b)
	must(t, b.space.db.Update(b.space.Checkpoint))
	agreeAfter(t, a, b)
	a.put(task{ID: 1, Title: "votes"})
	backup := filepath.Join(t.TempDir(), "backup")
	if err := a.db.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	c := a.copyIn(backup)
	agreeAfter(t, c, b)
	if c.get(1) == nil || b.get(1) == nil || c.covered() == nil || b.covered() == nil {
		t.Errorf("got %v, %v, %v and %v", c.get(1), b.get(1), c.covered(), b.covered())
	}
}

// A backup has what the replica had not sealed. The replica seals it, a checkpoint covers it, and
// the others forget it before the backup is opened, and starts from the checkpoint: what it has
// issued again does not count twice.
func TestRestore_behindACheckpointOfWhatWasNotSealed(t *testing.T) {
	for _, writes := range []bool{false, true} {
		for _, told := range []bool{false, true} {
			a := newPeerIn(t, filepath.Join(t.TempDir(), "db"))
			a.allow()
			b := newPeer(t, a)
			a.put(task{ID: 1, Votes: 1})
			meet(t, a, b)
			b.put(task{ID: 2})
			meet(t, a, b)
			a.edit(func(v *task) { v.Votes += 10 })
			backup := filepath.Join(t.TempDir(), "backup")
			must(t, a.db.Backup(t.Context(), backup))
			restored, votes := a.copyIn(backup), int32(11)
			if writes {
				restored.edit(func(v *task) { v.Votes += 100 })
				votes += 100
			}
			meet(t, a, b)
			if told { // it has the original of what it repeats
				must(t, restored.load(b.export(nil)))
			}
			for _, p := range []*peer{b, a} {
				p.put(task{ID: 3})
				meet(t, a, b)
			}
			pruneBoth(t, a, b)
			gather(t, b, a, restored)
			if v := b.get(1); v.Votes != votes {
				t.Errorf("writes %v, told %v: %d votes instead of %d", writes, told, v.Votes, votes)
			}
		}
	}
}

// pruneBoth prunes two replicas by a checkpoint of the first one.
func pruneBoth(t *testing.T, a, b *peer) {
	t.Helper()
	must(t, a.checkpoint())
	meet(t, a, b)
	b.put(task{ID: 4})
	meet(t, a, b)
	for _, p := range []*peer{a, b} {
		must(t, p.space.Prune())
	}
}
