package ship

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
)

// Successor returns the claim of this shipper after a state, with a branch of its own.
func (s *Shipper) Successor(after *object.State) (object.Claim, error) {
	branch, err := engine.NewBranchOff(after.Version.Branch)
	return object.Claim{
		Writer: s.config.Writer, Branch: branch, Window: uint64(s.config.Window),
	}, errors.Join(err, history.WantEpoch(after))
}

// Settle makes a folder, which is empty or has what an earlier try has left, the database that a
// replica shows, after the claim of w was made where it is. The folder has only what no file in the
// store has, so it costs no request. Then the database is to be opened with this shipper.
func (s *Shipper) Settle(
	ctx context.Context, w *history.Writer, r *engine.Replica, files vfs.FS, dir string,
) error {
	state := w.State()
	if shown := r.Visible(); shown != state.Commit {
		return fmt.Errorf("the replica shows commit %d, and the log ends at %d", shown, state.Commit)
	}
	s.writer, s.epoch, s.settled = w, state.Epoch, true
	if err := recordClaim(files, dir, state); err != nil {
		return err
	}
	return r.Settle(ctx, files, dir, s.epoch<<history.EpochShift)
}

// claimSettled is Claim for a folder that was made after the claim.
func (s *Shipper) claimSettled(found engine.Found) (claimed engine.Claimed, err error) {
	state := s.writer.State()
	if found.Database != state.Database || found.Commit != state.Commit {
		return claimed, fmt.Errorf("the folder %s was changed while it was made", found.Dir)
	}
	s.collector.local, err = localFiles(found)
	return engine.Claimed{First: s.epoch << history.EpochShift, Branch: state.Version.Branch}, err
}

// recordClaim is writeClaim for a folder that is not open, and may be missing.
func recordClaim(files vfs.FS, dir string, state *object.State) error {
	if err := files.MkdirAll(dir); err != nil {
		return err
	}
	opened, err := files.OpenFolder(dir)
	if err != nil {
		return err
	}
	return errors.Join(writeClaim(opened, dir, state), opened.Close())
}
