package raftstore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
)

// snapshot is a backup of a state, made when it is written. It may have later commands than when it
// was taken: who restores it skips them when raft applies them again. The state is synced, since
// raft may remove the entries of the log that a snapshot has.
type snapshot struct {
	ctx   context.Context
	stop  context.CancelFunc
	state *state
}

// Snapshot implements [raft.FSM].
func (m *Machine) Snapshot() (raft.FSMSnapshot, error) {
	m.applying.Lock()
	defer m.applying.Unlock()
	if m.failed != nil {
		return nil, fmt.Errorf("the state machine has failed: %w", m.failed)
	}
	ctx, stop := context.WithCancel(context.Background())
	return &snapshot{ctx, stop, m.state.Load()}, nil
}

// Persist implements [raft.FSMSnapshot].
func (s *snapshot) Persist(sink raft.SnapshotSink) error {
	err := s.state.Sync()
	if err == nil {
		err = s.state.BackupTo(s.ctx, sink)
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// Release implements [raft.FSMSnapshot].
func (s *snapshot) Release() { s.stop() }

// Restore implements [raft.FSM]: it makes the state that of a snapshot. After an error or a crash,
// the state is the one before. Transactions that have begun go on in that; they keep its disk space
// until they end.
func (m *Machine) Restore(stream io.ReadCloser) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	before := m.state.Load()
	if err := m.receive(stream, before.number+1); err != nil {
		return fmt.Errorf("restore a snapshot to %s: %w", m.dir, err)
	}
	if err := m.use(before.number + 1); err != nil {
		err = errors.Join(err, remove(m.dir, before.number+1))
		return fmt.Errorf("restore a snapshot to %s: %w", m.dir, err)
	}
	m.failed = nil
	_ = before.Close()               // what it cannot write any more is not needed
	_ = remove(m.dir, before.number) // or the next OpenMachine does
	return nil
}

// receive makes a database of a stream, which counts from the moment that it has its name.
func (m *Machine) receive(stream io.ReadCloser, number uint64) error {
	if err := discard(m.dir); err != nil {
		return err
	}
	err := stoat.RestoreFrom(context.Background(), stream, incoming(m.dir))
	if err = errors.Join(err, stream.Close()); err != nil {
		return errors.Join(err, discard(m.dir))
	}
	return publish(m.dir, number)
}

// Holds reports whether the state has everything that the newest snapshot has, so that raft need
// not restore it: set raft.Config.NoSnapshotRestoreOnStart to the result. It may say no where
// raft's last entries before the snapshot were no commands.
func (m *Machine) Holds(snapshots raft.SnapshotStore) (bool, error) {
	all, err := snapshots.List()
	if err != nil || len(all) == 0 {
		return err == nil, err
	}
	index, err := m.Applied()
	return err == nil && index >= all[0].Index, err
}
