package session

import (
	"io"
	"time"
)

// patience is how long a peer may take for what it has begun: partMax bytes of a frame, or the rest
// of it, the handshake, reading what is written to it; and with Config.Once, for whatever is to
// come next: see await.
const patience = time.Minute

// partMax is how many bytes a peer must send or read within the patience of this side: fewer than
// the slowest connections carry.
const partMax = 16 << 10

// await closes the connection of a session that is for once unless something comes in time: as long
// as the slowest connection takes for what the peer was given and has not given credit for, but at
// most a window, since connections may buffer that, and a patience on top.
func (s *Session) await() {
	s.mu.Lock()
	given := int64(0)
	if s.source.reach != nil {
		given = min(max(0, window-s.source.credit), window)
	}
	s.mu.Unlock()
	s.reading.timer.Reset(s.reading.after + s.reading.after/partMax*time.Duration(given))
}

// watchdog closes a connection whose peer takes too long. It is safe for concurrent use.
type watchdog struct {
	timer *time.Timer
	after time.Duration
}

// newWatchdog returns a watchdog, which waits for nothing yet.
func newWatchdog(conn io.Closer, after time.Duration) *watchdog {
	w := &watchdog{timer: time.AfterFunc(time.Hour, func() { _ = conn.Close() }), after: after}
	w.rest()
	return w
}

// watch closes the connection unless rest or watch is called in time.
func (w *watchdog) watch() { w.timer.Reset(w.after) }

// rest waits for nothing.
func (w *watchdog) rest() { w.timer.Stop() }

// writePatiently writes p, as long as the peer goes on reading. It need not say anything meanwhile.
func (s *Session) writePatiently(p []byte) error {
	defer s.writing.rest()
	for len(p) > 0 {
		s.writing.watch()
		n, err := s.conn.Write(p[:min(len(p), partMax)])
		if err != nil {
			return err
		}
		if p = p[n:]; s.config.Once {
			s.await()
		}
	}
	return nil
}
