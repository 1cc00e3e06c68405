package wal

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"sync"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// A segment is preallocated in steps of its current size, within these bounds: writing to reserved
// blocks makes a sync several times as fast, and a full disk is noticed before a commit has begun.
const (
	minAheadBytes = 256 << 10
	maxAheadBytes = 16 << 20
)

// Segment is a log segment that is being written. It has an appender, which calls Append, Abort,
// Reserve and Size, and a flusher, which calls Write, Close, Written and Durable. The two may be
// different goroutines and run concurrently; each is one goroutine at a time.
type Segment struct {
	fs     vfs.Files
	dir    string
	number uint64
	file   vfs.File
	seed   uint32

	// The appender's.
	end      int64 // offset of the next frame
	reserved int64 // bytes of the file that are preallocated
	open     bool  // the last frame did not end its transaction

	// The flusher's.
	written int64    // bytes written, all of them the file header and frames
	synced  int64    // how many of them are durable
	named   bool     // the file's name is durable
	newest  uint64   // the newest commit whose last frame is written
	spare   []queued // the queue of the last Write, for reuse

	mu    sync.Mutex
	queue []queued
	err   error // the first failure, which is final
}

// queued is a frame waiting to be written.
type queued struct {
	frame  []byte
	commit uint64
	kind   kind
}

// Reach is how far Write takes the frames.
type Reach uint8

// The values of Reach. Each includes those before it.
const (
	Written Reach = iota // to the operating system
	Started              // on their way to the disk, which makes a later sync faster
	Durable              // to the disk
)

// Create makes a new segment file. Its name becomes durable with the first sync.
func Create(fs vfs.Files, dir string, number uint64, database [16]byte) (*Segment, error) {
	path := filepath.Join(dir, folder.Log.Name(number))
	file, err := fs.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create log %06d: %w", number, err)
	}
	header := fileheader.New(fileheader.Log, number, database)
	image := header.Bytes()
	if _, err := file.WriteAt(image[:], 0); err != nil {
		err = errors.Join(err, file.Close(), fs.Remove(path))
		return nil, fmt.Errorf("create log %06d: %w", number, err)
	}
	return &Segment{
		fs: fs, dir: dir, number: number, file: file, seed: header.Seed(),
		end: fileheader.Size, written: fileheader.Size,
	}, nil
}

// NameIsDurable says that the file's name is durable already, so the first sync need not sync the
// folder. It must be called before the first Write.
func (s *Segment) NameIsDurable() { s.named = true }

// Reserve makes sure that the disk has room for frames of size bytes in total, and for the empty
// frame that may end a transaction. A failure leaves the log unchanged.
func (s *Segment) Reserve(size int64) error {
	if err := s.Err(); err != nil {
		return err
	}
	need := s.end + size + HeaderBytes
	if need <= s.reserved {
		return nil
	}
	to := need + min(max(need, minAheadBytes), maxAheadBytes)
	err := s.file.Preallocate(to)
	if errors.Is(err, vfs.ErrNoSpace) { // there may be enough for these frames
		to = need
		err = s.file.Preallocate(to)
	}
	if err != nil {
		return fmt.Errorf("reserve space in log %06d: %w", s.number, err)
	}
	s.reserved = to
	return nil
}

// Size returns the length of the segment once everything appended is written.
func (s *Segment) Size() int64 { return s.end }

// Written returns how many bytes of the file are written, and the newest commit whose last frame is
// among them, or 0.
func (s *Segment) Written() (size int64, through uint64) { return s.written, s.newest }

// Durable returns how many bytes of the file are durable.
func (s *Segment) Durable() int64 { return s.synced }

// Append queues frames of the transaction that will be the given commit; ends says that they are
// its last, and only then may frames be empty. A frame starts with HeaderBytes bytes, which Write
// fills in. It is not copied: it must not change until a Write that began later has returned.
// Commits must be consecutive. Frames that do not fit into a log fail the next Write.
func (s *Segment) Append(frames [][]byte, commit uint64, ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ends && len(frames) == 0 { // the last was appended before the caller knew
		frames = [][]byte{make([]byte, HeaderBytes)}
	}
	for i, frame := range frames {
		fits := len(frame) >= HeaderBytes && uint64(len(frame)-HeaderBytes) <= math.MaxUint32
		if s.err == nil && !fits {
			s.err = fmt.Errorf("log %06d: a frame of commit %d has %d bytes",
				s.number, commit, len(frame))
		}
		isLast := ends && i == len(frames)-1
		s.queue = append(s.queue, queued{frame, commit, kindOf(!s.open, isLast)})
		s.open = !isLast
		s.end += int64(len(frame))
	}
}

// Abort says that the transaction whose frames were appended last will not be finished.
func (s *Segment) Abort() { s.open = false }

// Write writes everything queued and takes it, and all that was written before, as far as reach
// says. It returns the newest commit whose last frame is written, or 0. The first failure is final:
// nothing is written or synced after it, since the state of the disk is unknown.
func (s *Segment) Write(reach Reach) (through uint64, err error) {
	s.mu.Lock()
	queue, err := s.queue, s.err
	s.queue, s.spare = s.spare[:0], nil
	s.mu.Unlock()
	if err == nil {
		err = s.writeFrames(queue)
	}
	switch {
	case err != nil:
	case reach == Durable:
		err = s.sync()
	case reach == Started:
		s.file.StartSync(s.synced, s.written-s.synced)
	}
	clear(queue) // release the frames
	s.spare = queue
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = cmp.Or(s.err, err)
		return 0, err
	}
	return s.newest, nil
}

// writeFrames seals frames and writes them; frames adjacent in memory are written together.
func (s *Segment) writeFrames(queue []queued) error {
	var run []byte
	for _, q := range queue {
		if !adjacent(run, q.frame) {
			if err := s.writeRun(run); err != nil {
				return err
			}
			run = q.frame[:0]
		}
		payload := q.frame[HeaderBytes:]
		frameHeader{
			length:     uint32(len(payload)),
			commit:     q.commit,
			synced:     uint64(s.synced),
			kind:       q.kind,
			payloadSum: checksum.Of(payload),
		}.put(q.frame, s.seed, s.written+int64(len(run)))
		run = run[:len(run)+len(q.frame)]
	}
	if err := s.writeRun(run); err != nil {
		return err
	}
	for _, q := range queue {
		if q.kind.ends() {
			s.newest = q.commit
		}
	}
	return nil
}

// adjacent reports whether b follows a in the same array.
func adjacent(a, b []byte) bool {
	return cap(a)-len(a) >= len(b) && len(a) > 0 && &a[:len(a)+1][len(a)] == &b[0]
}

func (s *Segment) writeRun(run []byte) error {
	if len(run) == 0 {
		return nil
	}
	if _, err := s.file.WriteAt(run, s.written); err != nil {
		return fmt.Errorf("write log %06d: %w", s.number, err)
	}
	s.written += int64(len(run))
	return nil
}

// sync makes everything written durable, the first time with the file's name.
func (s *Segment) sync() error {
	if s.synced == s.written {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync log %06d: %w", s.number, err)
	}
	if !s.named {
		if err := s.fs.SyncDir(s.dir); err != nil {
			return fmt.Errorf("sync the directory of log %06d: %w", s.number, err)
		}
		s.named = true
	}
	if err := s.file.Named(); err != nil {
		return fmt.Errorf("%w: what was just written to the log would be lost", err)
	}
	s.synced = s.written
	return nil
}

// Close frees preallocated space that was not used, and closes the file. Queued frames that were
// not flushed are lost. It need not sync: trailing zeros make no difference to a replay. After a
// failure it does not change the file.
func (s *Segment) Close() error {
	var err error
	if s.Err() == nil {
		err = s.file.Truncate(s.written)
	}
	if err = errors.Join(err, s.file.Close()); err != nil {
		return fmt.Errorf("close log %06d: %w", s.number, err)
	}
	return nil
}

// Err returns the first failure, after which nothing is written, or nil.
func (s *Segment) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
