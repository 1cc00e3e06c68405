package raftstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/raftstore"
)

// add is a command that adds its data to the list in bucket "list", and returns how long that is.
func add(tx *stoat.Tx, command *raft.Log) any {
	b, err := tx.CreateBucketIfNotExists([]byte("list"))
	if err != nil {
		return err
	}
	n, err := b.NextSequence()
	if err == nil {
		err = b.Put(fmt.Appendf(nil, "%08d", n), command.Data)
	}
	if err != nil {
		return err
	}
	return n
}

func openMachine(t testing.TB, dir string) *raftstore.Machine {
	t.Helper()
	m, err := raftstore.OpenMachine(dir, nil, add)
	ok(t, err)
	t.Cleanup(func() { _ = m.Close() }) // some tests have closed it
	return m
}

// command returns a command whose data is its index.
func command(index uint64) *raft.Log {
	return &raft.Log{Index: index, Type: raft.LogCommand, Data: fmt.Append(nil, index)}
}

func wantList(t testing.TB, m *raftstore.Machine, want ...string) {
	t.Helper()
	var got []string
	ok(t, m.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("list"))
		if errors.Is(err, stoat.ErrBucketNotFound) {
			return nil
		}
		for _, value := range b.Scan(stoat.Range{}) {
			got = append(got, string(value))
		}
		return err
	}))
	if !slices.Equal(got, want) {
		t.Fatalf("the list is %q, want %q", got, want)
	}
}

// sink is a snapshot in memory.
type sink struct {
	bytes.Buffer
	cancelled bool
}

func (*sink) ID() string      { return "a snapshot" }
func (*sink) Close() error    { return nil }
func (s *sink) Cancel() error { s.cancelled = true; return nil }

func taken(t testing.TB, m *raftstore.Machine) raft.FSMSnapshot {
	t.Helper()
	s, err := m.Snapshot()
	ok(t, err)
	t.Cleanup(s.Release)
	return s
}

func TestMachine_appliesACommandOnce(t *testing.T) {
	dir := t.TempDir()
	m := openMachine(t, dir)
	configuration := &raft.Log{Index: 3, Type: raft.LogConfiguration, Data: []byte("no command")}
	got := m.ApplyBatch([]*raft.Log{command(1), command(2), configuration, command(4)})
	if want := []any{uint64(1), uint64(2), nil, uint64(3)}; !slices.Equal(got, want) {
		t.Errorf("responses %v, want %v", got, want)
	}
	ok(t, m.Close())
	m = openMachine(t, dir)
	for i := range uint64(5) { // raft applies the log again
		m.Apply(command(i + 1))
	}
	wantList(t, m, "1", "2", "4", "5")
	if n, err := m.Applied(); err != nil || n != 5 {
		t.Errorf("applied up to %d, %v", n, err)
	}
}

// A cluster that is made of a snapshot numbers its commands from the snapshot's index on, whatever
// the old one had done since.
func TestMachine_snapshotHasNoLaterCommands(t *testing.T) {
	from, dir := openMachine(t, t.TempDir()), t.TempDir()
	from.Apply(command(1))
	s := taken(t, from)
	for i := range uint64(100) { // while raft takes its time
		from.Apply(command(i + 2))
	}
	var stream sink
	ok(t, s.Persist(&stream))
	s.Release()

	to := openMachine(t, dir)
	to.Apply(command(1))
	wrong := to.Apply(&raft.Log{Index: 2, Type: raft.LogCommand, Data: []byte("never committed")})
	if wrong != uint64(2) {
		t.Fatal(wrong)
	}
	ok(t, to.Restore(io.NopCloser(&stream.Buffer)))
	wantList(t, to, "1")
	to.Apply(&raft.Log{Index: 2, Type: raft.LogCommand, Data: []byte("of the new cluster")})
	wantList(t, to, "1", "of the new cluster")
	ok(t, to.Close())
	wantList(t, openMachine(t, dir), "1", "of the new cluster")
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

// A snapshot that is being written outlives the state that it is of.
func TestMachine_snapshotOutlivesARestore(t *testing.T) {
	m := openMachine(t, t.TempDir())
	m.Apply(command(1))
	var first, second sink
	ok(t, taken(t, m).Persist(&first))
	m.Apply(command(2))
	s := taken(t, m)
	ok(t, m.Restore(io.NopCloser(&first.Buffer)))
	ok(t, s.Persist(&second))
	ok(t, m.Restore(io.NopCloser(&second.Buffer)))
	wantList(t, m, "1", "2")
}

func TestMachine_staysAsItWasIfASnapshotIsDamaged(t *testing.T) {
	from, dir := openMachine(t, t.TempDir()), t.TempDir()
	from.Apply(command(1))
	var stream sink
	ok(t, taken(t, from).Persist(&stream))
	whole := bytes.Clone(stream.Bytes())
	to := openMachine(t, dir)
	to.Apply(command(7))
	for _, bad := range [][]byte{
		nil, []byte("no backup"), whole[:len(whole)/2], whole[:len(whole)*2/3],
	} {
		if err := to.Restore(io.NopCloser(bytes.NewReader(bad))); err == nil {
			t.Errorf("%d bytes of %d are a snapshot", len(bad), len(whole))
		}
		wantList(t, to, "7")
	}
	to.Apply(command(8))
	ok(t, to.Close())
	wantList(t, openMachine(t, dir), "7", "8")
}

func TestMachine_cleansUpAfterCrashes(t *testing.T) {
	dir := t.TempDir()
	m := openMachine(t, dir)
	m.Apply(command(1))
	ok(t, m.Close())
	first := filepath.Join(dir, "000001")
	ok(t, os.CopyFS(filepath.Join(dir, "000002"), os.DirFS(first))) // published, first not removed
	ok(t, os.CopyFS(filepath.Join(dir, "incoming"), os.DirFS(first)))
	ok(t, os.CopyFS(filepath.Join(dir, "snapshot-000003"), os.DirFS(first)))
	ok(t, os.Remove(filepath.Join(first, "LOCK")))
	m = openMachine(t, dir)
	wantList(t, m, "1")
	m.Apply(command(2))
	ok(t, m.Close())
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "000002" {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	ok(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	if _, err := raftstore.OpenMachine(dir, nil, add); err == nil {
		t.Error("a directory with files of others is opened")
	}
}

// A second machine in a directory, such as that of a process that was started twice, must not take
// what the first one has made for what a crash has left.
func TestMachine_leavesTheDirectoryOfAnotherAlone(t *testing.T) {
	dir := t.TempDir()
	m := openMachine(t, dir)
	m.Apply(command(1))
	s := taken(t, m)
	incoming := filepath.Join(dir, "incoming")
	ok(t, os.Mkdir(incoming, 0o700)) // as of a snapshot that is being received
	if _, err := raftstore.OpenMachine(dir, nil, add); !errors.Is(err, stoat.ErrLocked) {
		t.Fatalf("a second machine: %v", err)
	}
	if _, err := os.Stat(incoming); err != nil {
		t.Error(err)
	}
	var stream sink
	ok(t, s.Persist(&stream))
}

func TestMachine_canBeReadWhileASnapshotReplacesIt(t *testing.T) {
	m := openMachine(t, t.TempDir())
	m.Apply(command(1))
	var stream sink
	ok(t, taken(t, m).Persist(&stream))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if n, err := m.Applied(); err != nil || n != 1 {
					t.Errorf("applied up to %d, %v", n, err)
					return
				}
			}
		})
	}
	for range 20 {
		ok(t, m.Restore(io.NopCloser(bytes.NewReader(stream.Bytes()))))
	}
	close(done)
	readers.Wait()
}

func TestMachine_appliesNothingAfterAnError(t *testing.T) {
	dir := t.TempDir()
	m := openMachine(t, dir)
	m.Apply(command(1))
	ok(t, m.Close()) // the database fails from now on
	for i := range uint64(2) {
		if err, failed := m.Apply(command(i + 2)).(error); !failed || !errors.Is(err, stoat.ErrClosed) {
			t.Errorf("the response is %v", err)
		}
	}
	if _, err := m.Snapshot(); !errors.Is(err, stoat.ErrClosed) {
		t.Errorf("a failed state has a snapshot: %v", err)
	}
	m = openMachine(t, dir)
	m.Apply(command(2))
	wantList(t, m, "1", "2")
}

func TestMachine_cancelsASnapshotThatIsGone(t *testing.T) {
	m := openMachine(t, t.TempDir())
	m.Apply(command(1))
	s := taken(t, m)
	s.Release()
	var stream sink
	if err := s.Persist(&stream); err == nil || !stream.cancelled {
		t.Errorf("a snapshot without files: %v, cancelled: %v", err, stream.cancelled)
	}
}

func TestMachine_holdsASnapshotOrNot(t *testing.T) {
	m, snapshots := openMachine(t, t.TempDir()), raft.NewInmemSnapshotStore()
	want := func(want bool) {
		t.Helper()
		if got, err := m.Holds(snapshots); err != nil || got != want {
			t.Errorf("the state holds the snapshot: %v, %v, want %v", got, err, want)
		}
	}
	want(true)
	m.Apply(command(4))
	for index, held := range map[uint64]bool{4: true, 5: false} {
		s, err := snapshots.Create(1, index, 1, raft.Configuration{}, 1, nil)
		ok(t, err)
		ok(t, s.Close())
		want(held)
	}
}

// TestMachine_encryptsSnapshots wants snapshots to be unreadable without the key of the state.
func TestMachine_encryptsSnapshots(t *testing.T) {
	open := func(fill byte) *raftstore.Machine {
		opts := &stoat.Options{Key: bytes.Repeat([]byte{fill}, 32), Sync: stoat.SyncNever}
		m, err := raftstore.OpenMachine(t.TempDir(), opts, add)
		ok(t, err)
		t.Cleanup(func() { ok(t, m.Close()) })
		return m
	}
	from, to, other := open(1), open(1), open(2)
	from.Apply(&raft.Log{Index: 1, Type: raft.LogCommand, Data: []byte("least weasel")})
	var stream sink
	ok(t, taken(t, from).Persist(&stream))
	whole := bytes.Clone(stream.Bytes())
	if bytes.Contains(whole, []byte("weasel")) {
		t.Error("one can read the snapshot")
	}
	ok(t, to.Restore(io.NopCloser(bytes.NewReader(whole))))
	wantList(t, to, "least weasel")
	for _, m := range []*raftstore.Machine{other, openMachine(t, t.TempDir())} {
		if err := m.Restore(io.NopCloser(bytes.NewReader(whole))); !errors.Is(err, stoat.ErrKey) {
			t.Errorf("without the key: %v", err)
		}
	}
}
