package stoat_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/folder"
)

// damages returns what somebody could make of a file, by what was done.
func damages(p []byte) map[string][]byte {
	all := map[string][]byte{
		"extended by zeros": append(bytes.Clone(p), make([]byte, 5000)...),
		"extended by a bit": append(bytes.Clone(p), 1),
		"doubled":           append(bytes.Clone(p), p...),
	}
	places := []int{
		0, 17, 30, 60, 78, 80, 97, len(p) / 3, len(p) / 2, len(p) - 17, len(p) - 1,
	}
	for page := 4096; page < len(p) && page < 1<<18; page += 1 << 15 {
		places = append(places, page-1, page)
	}
	for _, at := range places {
		if at < 0 || at >= len(p) {
			continue
		}
		flipped := bytes.Clone(p)
		flipped[at] ^= 0x10
		all[fmt.Sprint("a bit at ", at)] = flipped
		all[fmt.Sprint("cut off at ", at)] = bytes.Clone(p[:at])
		zeroed := bytes.Clone(p)
		clear(zeroed[at:min(at+512, len(p))])
		if !bytes.Equal(zeroed, p) { // the last byte may be zero anyway
			all[fmt.Sprint("zeros at ", at)] = zeroed
		}
	}
	if len(p) > 3*4096 { // the second page in the place of the first, and both swapped
		swapped := bytes.Clone(p)
		copy(swapped[4096:8192], p[8192:12288])
		all["a page twice"] = bytes.Clone(swapped)
		copy(swapped[8192:12288], p[4096:8192])
		all["pages swapped"] = swapped
	}
	return all
}

// TestKey_damageIsNoErrorInTheData damages each file of an encrypted database in many ways.
// Whatever is read then is what was stored, or an error says what is wrong. Only a log may lose
// the newest commits, since its end may look as a crash leaves it; what was compacted stays. A
// manifest has no copy here that could stand in for it.
func TestKey_damageIsNoErrorInTheData(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db := openKeyed(t, dir, keyed(1))
	var states []string // from the compaction on
	for n := range 4 {
		fillSecret(t, db, 100*n, 4)
		if n == 1 {
			ok(t, db.Compact(t.Context()))
		}
		if n > 0 {
			states = append(states, dumpKeyed(t, db))
		}
	}
	crashed := copyOf(t, dir)
	ok(t, db.Close())
	allowed := map[folder.Kind][]string{folder.Log: states}
	outcomes := make(map[folder.Kind]*outcome)
	for kind := range leastNoticed {
		outcomes[kind] = new(outcome)
		if allowed[kind] == nil {
			allowed[kind] = states[len(states)-1:]
		}
	}
	for _, from := range []string{dir, crashed} {
		files := contents(t, from)
		for name, p := range files {
			kind, _ := folder.Parse(name)
			if outcomes[kind] == nil || from == crashed && kind != folder.Log {
				continue
			}
			for how, damaged := range damages([]byte(p)) {
				changed := maps.Clone(files)
				maps.DeleteFunc(changed, func(name, _ string) bool { return isCopy(name) })
				changed[name] = string(damaged)
				outcomes[kind].add(t, name+", "+how, changed, allowed[kind])
			}
		}
	}
	for kind, least := range leastNoticed {
		if o := outcomes[kind]; o.tried < 30 || o.noticed < o.tried*least/100 {
			t.Errorf("of a %s, %d of %d damages were noticed", kind, o.noticed, o.tried)
		}
	}
}

// leastNoticed is what percentage of damages must be errors. The rest is in what was preallocated,
// or behind the end, or looks like the end of a crash.
var leastNoticed = map[folder.Kind]int{
	folder.Table: 100, folder.Values: 100, folder.Manifest: 60, folder.Log: 35,
}

func isCopy(name string) bool {
	kind, _ := folder.Parse(name)
	return kind == folder.ManifestCopy
}

// outcome counts damages.
type outcome struct{ tried, noticed int }

// add reads a database of these files, which must be in an allowed state, or not readable.
func (o *outcome) add(t *testing.T, what string, files map[string]string, allowed []string) {
	t.Helper()
	o.tried++
	got, err := readDamaged(t, files)
	switch {
	case err == nil && !slices.Contains(allowed, got):
		t.Errorf("%s: the database has what it may not have", what)
	case err != nil && !errors.Is(err, stoat.ErrCorrupt) && !errors.Is(err, stoat.ErrKey):
		t.Errorf("%s: %v", what, err)
	case err != nil:
		o.noticed++
	}
}

// readDamaged returns what a database of these files holds.
func readDamaged(t *testing.T, files map[string]string) (got string, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, p := range files {
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(p), 0o600))
	}
	opts := keyed(1)
	opts.ReadOnly = true
	db, err := stoat.Open(dir, opts)
	if err == nil {
		err = db.View(func(tx *stoat.Tx) (err error) {
			got, err = dumpTx(tx)
			return err
		})
		ok(t, db.Close())
	}
	ok(t, os.RemoveAll(dir))
	return got, err
}

// dumpKeyed returns all that a database of fillSecret holds.
func dumpKeyed(t *testing.T, db *stoat.DB) (all string) {
	t.Helper()
	ok(t, db.View(func(tx *stoat.Tx) (err error) {
		all, err = dumpTx(tx)
		return err
	}))
	return all
}

func dumpTx(tx *stoat.Tx) (string, error) {
	var all strings.Builder
	b, err := tx.Bucket([]byte(secret + "-bucket"))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for k, v := range b.Scan(stoat.Range{}) {
		fmt.Fprintf(&all, "%q %q\n", k, v)
	}
	return all.String(), tx.Err()
}
