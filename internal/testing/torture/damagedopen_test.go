package torture

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// contents returns the readable pairs of each bucket of variedDB, and the errors of the others.
func openContents(t testing.TB, db *stoat.DB) (values map[string]string, errs []error) {
	t.Helper()
	values = map[string]string{}
	for _, name := range []string{"events", "words", "large"} {
		for i := range 40 {
			key := fmt.Append(nil, "key ", i)
			err := db.View(func(tx *stoat.Tx) error {
				b, err := tx.Bucket([]byte(name))
				if err != nil {
					return err
				}
				value, err := b.Get(key)
				if err == nil {
					values[name+string(key)] = string(value)
				}
				return err
			})
			if err != nil && !errors.Is(err, stoat.ErrNotFound) {
				errs = append(errs, err)
			}
		}
	}
	return values, errs
}

// TestOpen_readOnlyReadsWhatIsNotDamaged damages and removes tables, value files and flushed log
// segments, one at a time. What can be read must be right, what cannot must name the file, and a
// check must find exactly that.
func TestOpen_readOnlyReadsWhatIsNotDamaged(t *testing.T) {
	disk := memfs.New()
	ok(t, variedDB(t, disk).Close())
	db := reader(t, disk)
	want, errs := openContents(t, db)
	if len(want) < 100 || len(errs) > 0 {
		t.Fatalf("%d values, errors %v", len(want), errs)
	}
	ok(t, db.Close())
	names, err := disk.List("db")
	ok(t, err)
	damaged, failed := 0, 0
	for _, name := range names {
		if name == "LOCK" || strings.HasPrefix(name, "MANIFEST") {
			continue
		}
		whole := contentOf(t, disk, name)
		flipped := bytes.Clone(whole)
		flipped[3] ^= 1
		for _, content := range [][]byte{nil, {}, whole[:len(whole)/2], flipped} {
			if strings.HasSuffix(name, ".log") && len(content) == len(whole) {
				continue // nothing reads it there
			}
			replace(t, disk, name, content)
			db := reader(t, disk)
			wantFinding(t, db.Check(t.Context()), name, "")
			wantFinding(t, db.CheckQuick(t.Context()), name, "")
			got, errs := openContents(t, db)
			for _, err := range errs {
				if failed++; !errors.Is(err, stoat.ErrCorrupt) || !strings.Contains(err.Error(), name) {
					t.Fatalf("%s is damaged, the error is %v", name, err)
				}
			}
			for key, value := range got {
				if value != want[key] {
					t.Errorf("%s is damaged, and %q has another value", name, key)
				}
			}
			if len(got)+len(errs) < len(want) { // absent keys may fail, too
				t.Errorf("%s is damaged: %d values and %d errors, want %d at least", name, len(got),
					len(errs), len(want))
			}
			ok(t, db.Close())
			damaged++
		}
		replace(t, disk, name, whole)
	}
	if failed < 100 {
		t.Errorf("%d reads have failed: too little is tested", failed)
	}
	t.Logf("trust: %d damaged files", damaged)
}

// TestOpen_readOnlyRefusesADamagedLog flips bytes of commits that are followed by durable ones.
func TestOpen_readOnlyRefusesADamagedLog(t *testing.T) {
	disk := memfs.New()
	db := variedDB(t, disk)
	ok(t, db.Put([]byte("after"), nil))
	names, err := disk.List("db")
	ok(t, err)
	name := names[len(names)-1]
	for _, n := range names {
		if strings.HasSuffix(n, ".log") {
			name = n
		}
	}
	crashed := disk.CrashKeepAll()
	ok(t, db.Close())
	whole := contentOf(t, crashed, name)
	flips := 0
	for at := 48; at < 1000; at += 13 {
		p := bytes.Clone(whole)
		p[at] ^= 1
		replace(t, crashed, name, p)
		options := variedOptions
		options.ReadOnly = true
		_, err := tuned.Open(crashed, "db", &options, varied)
		wantErr(t, err, stoat.ErrCorrupt)
		flips++
	}
	t.Logf("trust: %d flipped bytes", flips)
}
