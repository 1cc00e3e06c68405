package raftstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
)

// Apply changes the state by a command, and returns the response for who proposed it. It must do
// the same on all servers, so it must not ask for the time, or for anything that is not in the
// transaction and the command. What it has written stays, whatever it returns, so it has to refuse
// a command before it writes. A panic ends the process, as in any state machine of raft.
type Apply func(tx *stoat.Tx, command *raft.Log) any

// Machine is a state machine whose state is a database in a directory. It implements
// [raft.BatchingFSM] and is safe for concurrent use.
//
// The state and the index of the last command are in the same commit, so a command that raft
// applies again after a restart has no second effect. The database need not sync its commits: what
// a power cut takes is still in the log, since a snapshot is durable before raft removes entries.
type Machine struct {
	dir   string
	opts  stoat.Options
	apply Apply
	state atomic.Pointer[state]

	applying  sync.Mutex
	failed    error  // why nothing is applied any more
	snapshots uint64 // taken since the machine was opened
}

// state is the database of a machine until a snapshot replaces it.
type state struct {
	*stoat.DB
	number uint64 // of its directory
}

var _ raft.BatchingFSM = (*Machine)(nil)

// appliedBucket is the bucket of the database with what the machine itself stores: under
// appliedKey, the index of the last command.
const (
	appliedBucket = "raftstore"
	appliedKey    = "applied"
)

// OpenMachine opens the state in dir, creating it if there is none. The options are those of its
// database; nil stands for [stoat.SyncNever]. The directory belongs to the machine, which keeps
// databases in numbered directories there. With a Key, the state and its snapshots are encrypted:
// all servers of a cluster need the same one. The bucket "raftstore" of the state is the machine's.
func OpenMachine(dir string, opts *stoat.Options, apply Apply) (*Machine, error) {
	m := &Machine{dir: dir, apply: apply, opts: stoat.Options{Sync: stoat.SyncNever}}
	if opts != nil {
		m.opts = *opts
		m.opts.Key = bytes.Clone(opts.Key)
	}
	found, err := examine(dir)
	if err == nil {
		err = m.use(found.number)
	}
	if err == nil {
		if err = found.tidy(dir); err != nil {
			err = errors.Join(err, m.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open state machine %s: %w", dir, err)
	}
	return m, nil
}

// use opens the database with a number, which becomes the state.
func (m *Machine) use(number uint64) error {
	opts := m.opts
	db, err := stoat.Open(numbered(m.dir, number), &opts)
	if err == nil {
		m.state.Store(&state{db, number})
	}
	return err
}

// View runs fn in a read-only transaction. On a server that is not the leader, or was not for a
// moment, the state may be old; call raft.VerifyLeader and raft.Barrier first where that matters.
func (m *Machine) View(fn func(tx *stoat.Tx) error) error {
	for {
		s := m.state.Load()
		begun := false
		err := s.View(func(tx *stoat.Tx) error {
			begun = true
			return fn(tx)
		})
		if begun || !errors.Is(err, stoat.ErrClosed) || s == m.state.Load() {
			return err
		}
	}
}

// Applied returns the index of the last command that the state has.
func (m *Machine) Applied() (index uint64, err error) {
	err = m.View(func(tx *stoat.Tx) (err error) {
		index, err = applied(tx)
		return err
	})
	return index, err
}

func applied(tx *stoat.Tx) (uint64, error) {
	b, err := tx.Bucket([]byte(appliedBucket))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	value, err := b.Get([]byte(appliedKey))
	if err != nil {
		return 0, err
	}
	return parseNumber([]byte(appliedKey), value)
}

func setApplied(tx *stoat.Tx, index uint64) error {
	b, err := tx.CreateBucketIfNotExists([]byte(appliedBucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(appliedKey), binary.BigEndian.AppendUint64(nil, index))
}

// Apply implements [raft.FSM].
func (m *Machine) Apply(command *raft.Log) any { return m.ApplyBatch([]*raft.Log{command})[0] }

// ApplyBatch implements [raft.BatchingFSM]: it applies commands in one transaction. The response to
// a command that the state has already is nil. If the database fails, the responses are the error,
// and nothing is applied any more until the machine is opened again.
func (m *Machine) ApplyBatch(logs []*raft.Log) []any {
	m.applying.Lock()
	defer m.applying.Unlock()
	responses := make([]any, len(logs))
	if m.failed == nil && len(logs) > 0 {
		m.failed = m.state.Load().Update(func(tx *stoat.Tx) error {
			return m.applyAll(tx, logs, responses)
		})
	}
	if m.failed != nil {
		for i := range responses {
			responses[i] = fmt.Errorf("the state machine has failed: %w", m.failed)
		}
	}
	return responses
}

func (m *Machine) applyAll(tx *stoat.Tx, logs []*raft.Log, responses []any) error {
	last, err := applied(tx)
	if err != nil {
		return err
	}
	for i, log := range logs {
		if log.Index <= last {
			continue
		}
		if log.Type == raft.LogCommand {
			responses[i] = m.apply(tx, log)
		}
		last = log.Index
	}
	return setApplied(tx, last)
}

// Close closes the state. Shut raft down first.
func (m *Machine) Close() error { return m.state.Load().Close() }
