package stress

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// carry carries a file from the replica to another one.
func (w *world) carry(l *life, rng *rand.Rand) error {
	var file bytes.Buffer
	if err := replica.Export(l.ctx, l.space, &file); err != nil {
		return err
	}
	to := w.any(rng)
	if to == nil || to == l {
		return nil
	}
	isCut := rng.IntN(8) == 0
	if isCut {
		file.Truncate(rng.IntN(file.Len()))
	}
	err := replica.Import(to.ctx, to.space, &file)
	if err == nil || isCut {
		return nil
	}
	w.seen("import: " + err.Error())
	text := err.Error()
	if strings.Contains(text, "import again") || // other sessions have met another checkpoint
		w.forks && strings.Contains(text, "fork proof is missing") { // it comes with sessions
		return nil
	}
	err = to.expects(err, replica.ErrNotHeld, replica.ErrPruned, replica.ErrMissing)
	if err != nil {
		err = fmt.Errorf("import by %s: %w", to.m.name, err)
	}
	return err
}

// checkpoint makes a checkpoint.
func (w *world) checkpoint(l *life, rng *rand.Rand) error {
	if w.forks || !rules(l.m.right) {
		return nil
	}
	return l.db.Update(func(tx *stoat.Tx) error { return l.space.Checkpoint(tx) })
}

// rules reports whether a device with the right may grant others.
func rules(r replica.Right) bool { return r == 0 || r&replica.Invite != 0 }

// prune prunes what a checkpoint covers.
func (w *world) prune(l *life, rng *rand.Rand) error {
	if !l.m.prunes {
		return nil
	}
	return l.space.Prune()
}

// rights grants or revokes what the guest may do.
func (w *world) rights(l *life, rng *rand.Rand) error {
	if w.guest == (replica.DeviceID{}) || !rules(l.m.right) {
		return nil
	}
	err := l.db.Update(func(tx *stoat.Tx) error {
		if rng.IntN(2) == 0 {
			return l.space.Revoke(tx, w.guest)
		}
		return l.space.Grant(tx, w.guest, replica.Write)
	})
	if err != nil && strings.Contains(err.Error(), "no grant to revoke") {
		err = nil
	}
	return err
}

// adoptAll has the founder issue again what does not count.
func (w *world) adoptAll(l *life, rng *rand.Rand) error {
	if l.m != w.founder {
		return nil
	}
	_, err := l.adopt()
	return err
}

// adopt issues again what does not count, and returns how many entries that were.
func (l *life) adopt() (n int, err error) {
	err = l.db.Update(func(tx *stoat.Tx) error {
		var all []*replica.Void
		for v, err := range l.space.Void(tx) {
			if err != nil {
				return err
			}
			if !v.Repeated && v.Act == "" {
				all = append(all, v)
			}
		}
		for _, v := range all {
			a, err := l.space.Adopt(tx, v.Log, v.Seq, v.Seq+1)
			if n += a.Entries; err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
