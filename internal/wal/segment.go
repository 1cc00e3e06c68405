package wal

import (
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

// A segment is preallocated in steps of its size so far, within these bounds: writing where blocks
// are reserved already makes a sync several times as fast, and a full disk is noticed before a
// commit is under way.
const (
	minAheadBytes = 256 << 10
	maxAheadBytes = 16 << 20
)

// Segment is a log segment that is being written. Append, Abort and Reserve are for one goroutine
// at a time; so are Flush and Close; the two may run concurrently.
type Segment struct {
	fs     vfs.Files
	dir    string
	number uint64
	file   vfs.File
	seed   uint32

	// The appender's.
	end      int64 // where the next frame goes
	reserved int64 // so far the file is preallocated
	open     bool  // the last frame did not end its transaction

	// The flusher's.
	written int64    // so many bytes are written, frames all of them
	synced  int64    // so many of them are durable
	named   bool     // the file's name is durable
	newest  uint64   // commit whose last frame is written
	spare   []queued // the queue of the flush before

	mu    sync.Mutex
	queue []queued
	err   error // the first failure, which is final
}

// queued is a frame that waits to be written.
type queued struct {
	frame  []byte
	commit uint64
	kind   kind
}

// Reach is how far Flush takes the frames.
type Reach uint8

// Each includes those before it.
const (
	Written Reach = iota // the system has them
	Started              // and begins to bring them to the disk, so that syncing takes less time later
	Durable              // they are on the disk
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

// Named tells that the file's name has become durable together with another one's: the first sync
// need not see to it. It is for whoever has created the segment to call, before the first Flush.
func (s *Segment) Named() { s.named = true }

// Reserve makes sure that the disk has room for frames of size bytes in all, and for the empty
// frame that may have to end a transaction. A failure leaves the log as it was.
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
	if errors.Is(err, vfs.ErrNoSpace) { // perhaps there is enough for these frames
		to = need
		err = s.file.Preallocate(to)
	}
	if err != nil {
		return fmt.Errorf("reserve space in log %06d: %w", s.number, err)
	}
	s.reserved = to
	return nil
}

// Size returns how long the segment is with all that was appended. It is for the appender to call.
func (s *Segment) Size() int64 { return s.end }

// Written returns how many bytes of the file are written, and the newest commit whose last frame is
// among them, or 0. It is for the flusher to call.
func (s *Segment) Written() (size int64, through uint64) { return s.written, s.newest }

// Durable returns how many bytes of the file are durable. It is for the flusher to call.
func (s *Segment) Durable() int64 { return s.synced }

// Append queues frames of the transaction that will be the given commit; ends says that there are
// no more, and only then may frames be empty. A frame starts with HeaderBytes bytes for Flush to
// fill in. It is not copied: it must stay as it is until a Flush that began later has returned.
// Commits must be consecutive. Frames that cannot be in a log fail the next Flush.
func (s *Segment) Append(frames [][]byte, commit uint64, ends bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ends && len(frames) == 0 { // all were appended before it was known
		frames = [][]byte{make([]byte, HeaderBytes)}
	}
	for i, frame := range frames {
		if s.err == nil && !validLength(len(frame)) {
			s.err = fmt.Errorf("log %06d: a frame of commit %d has %d bytes",
				s.number, commit, len(frame))
		}
		isLast := ends && i == len(frames)-1
		s.queue = append(s.queue, queued{frame, commit, kindOf(!s.open, isLast)})
		s.open = !isLast
		s.end += int64(len(frame))
	}
}

func validLength(frame int) bool {
	return frame >= HeaderBytes && uint64(frame-HeaderBytes) <= math.MaxUint32
}

// Abort says that the transaction whose frames were appended last will not be finished.
func (s *Segment) Abort() { s.open = false }

// Flush writes everything queued, and takes it and what was written before as far as reach says. It
// returns the newest commit whose last frame it or a Flush before it wrote, 0 if there is none. The
// first failure is final: nothing is written or synced after it, since it is unknown what the disk
// holds.
func (s *Segment) Flush(reach Reach) (through uint64, err error) {
	s.mu.Lock()
	queue, err := s.queue, s.err
	s.queue, s.spare = s.spare[:0], nil
	s.mu.Unlock()
	if err == nil {
		err = s.write(queue)
	}
	switch {
	case err != nil:
	case reach == Durable:
		err = s.sync()
	case reach == Started:
		s.file.StartSync(s.synced, s.written-s.synced)
	}
	clear(queue) // lets go of the frames
	s.spare = queue
	if err != nil {
		s.fail(err)
		return 0, err
	}
	return s.newest, nil
}

// write seals frames and writes them, as many at a time as lie next to each other in memory.
func (s *Segment) write(queue []queued) error {
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

// sync makes what is written durable, and before that can be said of any commit, the file's name.
func (s *Segment) sync() error {
	if s.synced == s.written {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("sync log %06d: %w", s.number, err)
	}
	if !s.named {
		if err := s.fs.SyncDir(s.dir); err != nil {
			return fmt.Errorf("sync the folder of log %06d: %w", s.number, err)
		}
		s.named = true
	}
	if err := s.file.Named(); err != nil {
		return fmt.Errorf("%w: what was just written to the log would be lost", err)
	}
	s.synced = s.written
	return nil
}

// Close gives back what was preallocated and not used, and closes the file. What is queued and not
// flushed is lost. There is no need to sync: whether the file ends or zeros follow, replay reads
// the same. After a failure the file is left as it is.
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

// fail makes err the failure, unless there has been one.
func (s *Segment) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// Err returns the failure after which nothing more is written, or nil.
func (s *Segment) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
