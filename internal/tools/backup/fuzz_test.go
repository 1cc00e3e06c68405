package backup

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// streamOf returns the source as a stream, whose manifest has the number 90.
func streamOf(t testing.TB, s Source) []byte {
	t.Helper()
	var buf bytes.Buffer
	stream, err := NewStream(&buf, s, new(Meter))
	ok(t, err)
	for table := range s.Version.Tables() {
		ok(t, stream.Table(t.Context(), table))
	}
	ok(t, stream.Commit(t.Context(), 90))
	ok(t, stream.Close())
	return buf.Bytes()
}

func TestReceive_makesABackup(t *testing.T) {
	for _, vanish := range []bool{false, true} {
		s, _ := newSource(t, 3, 5)
		s.MayVanish = vanish
		target := memfs.New()
		f, err := BeginEmpty(target, "backup")
		ok(t, err)
		state, err := f.Receive(t.Context(), bytes.NewReader(streamOf(t, s)), nil)
		ok(t, err)
		ok(t, f.Commit(state.Version))
		ok(t, f.Tidy())
		ok(t, f.Close())
		wantFiles(t, target, "000002.log", "000003.table", "000005.table", "MANIFEST-000091")
		if got := read(t, target, "backup/000002.log"); got != "log.log.lo" {
			t.Errorf("of the log there is %q", got)
		}
		done, err := s.make(t, target, false)
		ok(t, err)
		wantDone(t, done, 0, 3)
	}
}

// FuzzReceive wants whatever is received to be a backup, or to leave nothing.
func FuzzReceive(f *testing.F) {
	s, _ := newSource(f, 3, 5)
	whole := streamOf(f, s)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, stream []byte) {
		target := memfs.New()
		folder, err := BeginEmpty(target, "backup")
		ok(t, err)
		state, err := folder.Receive(t.Context(), bytes.NewReader(stream), nil)
		if err == nil {
			ok(t, folder.Commit(state.Version))
			ok(t, folder.Tidy())
		}
		ok(t, folder.Close())
		if err != nil {
			wantFiles(t, target)
			return
		}
		loaded, err := manifest.Load(target, "backup")
		ok(t, err)
		if !loaded.Version.Backup {
			t.Error("what was received is no backup")
		}
	})
}
