package torture

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// pairsIn returns what a database holds.
func pairsIn(t testing.TB, files vfs.FS, dir string) map[string]string {
	t.Helper()
	db, err := tuned.Open(files, dir, &stoat.Options{ReadOnly: true}, engine.Tuning{})
	ok(t, err)
	defer db.Close()
	all := map[string]string{}
	ok(t, db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Range{}) {
			all[string(key)] = string(value)
		}
		return nil
	}))
	ok(t, db.Check(t.Context()))
	return all
}

// betweenParts returns the disk of a database that was closed while a compaction had done some
// parts, and what it holds.
func betweenParts(t testing.TB, rng *rand.Rand) (*memfs.FS, map[string]string) {
	t.Helper()
	disk, made := memfs.New(), new(atomic.Int64)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".table") && made.Add(1) == 20 {
			cancel()
		}
		return nil
	})
	db, err := tuned.Open(files, "db", nil, engine.Tuning{
		TableBytes: 2 << 10, BlockBytes: 256, PartBytes: 8 << 10, YoungRuns: 100, IdleAfter: time.Hour,
	})
	ok(t, err)
	want := map[string]string{}
	key := func(i int) string { return fmt.Sprintf("key %05d", i) }
	for round := range 3 {
		ok(t, db.Update(func(tx *stoat.Tx) error {
			for _, i := range rng.Perm(1500)[:1500-400*round] {
				k, v := key(i), fmt.Sprintf("%d: %060x", round, rng.Uint64())
				ok(t, tx.Put([]byte(k), []byte(v)))
				want[k] = v
			}
			for range 100 * round {
				k := key(rng.IntN(1500))
				ok(t, tx.Delete([]byte(k)))
				delete(want, k)
			}
			return nil
		}))
		ok(t, db.Flush())
		if round == 0 {
			ok(t, db.Compact(t.Context()))
		}
	}
	made.Store(0)
	if err := db.Compact(ctx); err == nil {
		t.Error("the compaction came to its end")
	}
	ok(t, db.Close())
	return disk, want
}

func TestSalvage_betweenPartsOfACompaction(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	disk, want := betweenParts(t, rand.New(rand.NewPCG(seed, 0)))
	if got := pairsIn(t, disk, "db"); !maps.Equal(got, want) {
		t.Fatalf("the database holds %d pairs, want %d", len(got), len(want))
	}
	report, err := tuned.Salvage(t.Context(), disk, "db", "salvaged", salvageSizes())
	ok(t, err)
	if got := pairsIn(t, disk, "salvaged"); !maps.Equal(got, want) {
		t.Errorf("what is salvaged holds %d pairs, want %d: %+v", len(got), len(want), report)
	}
}

// Without a manifest, nothing says what a front deletes from the tables that it leaves in part. So
// keys come back that were deleted, and no others are lost or outdated.
func TestSalvage_betweenPartsOfACompactionWithoutAManifest(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	disk, want := betweenParts(t, rand.New(rand.NewPCG(seed, 0)))
	for _, f := range filesIn(t, disk, "db") {
		if strings.HasPrefix(f.name, "MANIFEST") {
			ok(t, disk.Remove("db/"+f.name))
		}
	}
	report, err := tuned.Salvage(t.Context(), disk, "db", "salvaged", salvageSizes())
	ok(t, err)
	got := pairsIn(t, disk, "salvaged")
	for key, value := range want {
		if got[key] != value {
			t.Fatalf("%s is %q, want %q", key, got[key], value)
		}
	}
	if t.Logf("%d of %d deleted keys come back", len(got)-len(want), 1500-len(want)); !report.Older {
		t.Errorf("the report does not say so: %+v", report)
	}
}
