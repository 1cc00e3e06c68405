package docs

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// reads measures random gets and scans of an open database.
func (r *run) reads(s *database, get, scan string) error {
	if r.job.Wants(get) {
		if err := r.gets(s, get); err != nil {
			return fmt.Errorf("%s: %w", get, err)
		}
	}
	return r.scans(s, scan, r.plan.scans, func() error { return r.scan(s) })
}

// cold measures the first gets and the first scan, each in a freshly opened database whose files
// are not in memory.
func (r *run) cold(s *database) error {
	for _, part := range []struct {
		row  string
		read func() error
	}{
		{"get_cold", func() error {
			all := r.shuffled(s, "get_cold")
			return r.copies(s, "get_cold", all[:min(r.plan.copies, len(all))], 1, sweptCaches)
		}},
		{"scan_cold", func() error {
			return r.scans(s, "scan_cold", 1, func() error { return r.copyAll(s, engine.KeysAndValues) })
		}},
	} {
		if !r.job.Wants(part.row) {
			continue
		}
		if err := machine.DropCache(s.dir); err != nil {
			return err
		}
		if err := r.open(s); err != nil {
			return err
		}
		r.sweeper.sweep()
		if err := part.read(); err != nil {
			return fmt.Errorf("%s: %w", part.row, err)
		}
		if err := s.store.Close(); err != nil {
			return err
		}
	}
	return nil
}

// warm measures the gets and scans of a database after each document has been read once.
func (r *run) warm(s *database) error {
	if err := r.open(s); err != nil {
		return err
	}
	all := r.shuffled(s, "get_first")
	if err := r.copies(s, "get_first", all, r.calls(s), cachesAsTheyAre); err != nil {
		return fmt.Errorf("get_first: %w", err)
	}
	if r.job.Wants("get_warm") {
		if err := r.gets(s, "get_warm"); err != nil {
			return fmt.Errorf("get_warm: %w", err)
		}
	}
	if r.job.Wants("get_swept") {
		if err := r.copies(s, "get_swept", r.picks(s, "get_swept"), 1, sweptCaches); err != nil {
			return fmt.Errorf("get_swept: %w", err)
		}
	}
	touch := func() error { return r.scan(s) }
	if err := r.scans(s, "scan_warm", r.plan.scans, touch); err != nil {
		return err
	}
	keys := func() error { return r.copyAll(s, engine.KeysOnly) }
	if err := r.scans(s, "scan_keys", r.plan.scans, keys); err != nil {
		return err
	}
	return s.store.Close()
}

// gets measures random gets that copy nothing.
func (r *run) gets(s *database, row string) error {
	random := r.choices(row, s)
	keys := make([][]byte, r.calls(s))
	samples := make([]float64, 0, r.plan.reads)
	runtime.GC() // the garbage of earlier rows must not cost this one anything
	for begun := time.Now(); r.wantsMore(len(samples), begun); {
		var want int
		for i := range keys {
			number := random.IntN(len(s.documents))
			keys[i] = r.key(number)
			want += len(s.documents[number])
		}
		var got int
		start := time.Now()
		for _, key := range keys {
			size, err := s.store.Get(key)
			if err != nil {
				return err
			}
			got += size
		}
		samples = append(samples, since(start)/float64(len(keys)))
		if got != want {
			return fmt.Errorf("documents of %d bytes instead of %d", got, want)
		}
	}
	r.record(s, row, samples...)
	return nil
}

// wantsMore reports whether a row begun at that time needs more samples.
func (r *run) wantsMore(samples int, begun time.Time) bool {
	return samples < leastReads || samples < r.plan.reads && time.Since(begun) < r.plan.readTime
}

// calls returns how many gets make up one sample: few enough for several samples of each document's
// first get.
func (r *run) calls(s *database) int {
	return min(r.plan.calls, max(1, len(s.documents)/leastReads))
}

// copies measures gets that copy the picked documents, the given number for one sample.
func (r *run) copies(s *database, row string, picks []int, calls int, c caches) error {
	buf := make([]byte, s.longest)
	var samples []float64
	runtime.GC()
	for group := range slices.Chunk(picks, calls) {
		var elapsed time.Duration
		for _, number := range group {
			key := r.key(number)
			if c == sweptCaches {
				r.sweeper.sweep()
			}
			start := time.Now()
			value, found, err := s.store.Copy(key, buf)
			elapsed += time.Since(start)
			if err != nil {
				return err
			}
			if !found || !bytes.Equal(value, s.documents[number]) {
				return fmt.Errorf("document %d: %d bytes instead of, or different from, the %d written",
					number, len(value), len(s.documents[number]))
			}
		}
		if len(group) == calls || len(samples) == 0 { // a smaller group is not comparable
			samples = append(samples, float64(elapsed)/float64(len(group)))
		}
	}
	r.record(s, row, samples...)
	return nil
}

// scans measures scans of a database, and records the time per document.
func (r *run) scans(s *database, row string, most int, scan func() error) error {
	if !r.job.Wants(row) {
		return nil
	}
	var samples []float64
	runtime.GC()
	for begun := time.Now(); len(samples) < most && r.wantsMore(len(samples), begun); {
		start := time.Now()
		if err := scan(); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
		samples = append(samples, since(start)/float64(len(s.documents)))
	}
	r.record(s, row, samples...)
	return nil
}

// scan looks at one byte of each document.
func (r *run) scan(s *database) error {
	got, err := s.store.Iterate(r.key(0), len(s.documents), engine.TouchValues)
	if err == nil && got != s.walk {
		err = fmt.Errorf("the walk saw %+v instead of %+v", got, s.walk)
	}
	return err
}

// copyAll copies all documents, or all keys.
func (r *run) copyAll(s *database, part engine.Part) error {
	want := engine.Walk{Entries: len(s.documents), Bytes: len(s.documents) * engine.KeyBytes}
	if part == engine.KeysAndValues {
		want.Bytes += s.walk.Bytes
	}
	got, err := s.store.CopyAll(len(s.documents), part)
	if err == nil && got != want {
		err = fmt.Errorf("copied %+v instead of %+v", got, want)
	}
	return err
}

// choices returns the source of a row's random choices, which differ from round to round.
func (r *run) choices(row string, s *database) *rand.Rand {
	return r.random(fmt.Sprintf("%s %s %d", row, s.state, r.job.Round))
}

// picks returns the numbers of random documents, one for each sample of a row that copies.
func (r *run) picks(s *database, row string) []int {
	random := r.choices(row, s)
	picks := make([]int, r.plan.copies)
	for i := range picks {
		picks[i] = random.IntN(len(s.documents))
	}
	return picks
}

// shuffled returns the numbers of all documents in random order.
func (r *run) shuffled(s *database, row string) []int {
	return r.choices(row, s).Perm(len(s.documents))
}
