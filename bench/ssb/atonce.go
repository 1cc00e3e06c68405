package ssb

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
)

// closeAtOnce loads new databases and closes each right after its last append, while the engine has
// everything still to do that it defers.
func (r *run) closeAtOnce() error {
	if !r.job.Wants("close_at_once", "open_at_once", "size_at_once") {
		return nil
	}
	begun := time.Now()
	for i := range r.plan.loads {
		if i > 0 && time.Since(begun) > r.plan.loadTime {
			break
		}
		if err := r.loadAndClose(); err != nil {
			return err
		}
	}
	return nil
}

// loadAndClose takes one sample of each row, and checks that everything is there.
func (r *run) loadAndClose() error {
	const name = "at-once"
	if err := r.open(name); err != nil {
		return err
	}
	if _, err := r.fill(func() error { return nil }); err != nil {
		return err
	}
	start := time.Now()
	if err := r.store.Close(); err != nil {
		return err
	}
	closing := since(start)
	dir := filepath.Join(r.job.Dir, name)
	size, err := machine.SizeOf(dir)
	if err != nil {
		return err
	}
	start = time.Now()
	if err := r.open(name); err != nil {
		return err
	}
	opening := since(start)
	for row, sample := range map[string]float64{
		"close_at_once": closing,
		"open_at_once":  opening,
		"size_at_once":  float64(size.Apparent) / float64(r.data.len()),
	} {
		if r.job.Wants(row) {
			r.record(row, "", sample)
		}
	}
	if err := r.walk(0, r.data.len(), engine.TouchValues)(); err != nil {
		return fmt.Errorf("after reopening: %w", err)
	}
	if err := r.store.Close(); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
