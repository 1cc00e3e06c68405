package session

import (
	"io"
	"time"
)

// patience is how long a peer may take for what it has begun: a frame, the handshake, reading what
// is written to it; and with Config.Once, for whatever is to come next.
const patience = time.Minute

// writeMax is how many bytes a peer must read within the patience of this side.
const writeMax = 16 << 10

// watchdog closes a connection whose peer takes too long. It is not safe for concurrent use.
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

// writePatiently writes p, as long as the peer goes on reading.
func (s *Session) writePatiently(p []byte) error {
	defer s.writing.rest()
	for len(p) > 0 {
		s.writing.watch()
		n, err := s.conn.Write(p[:min(len(p), writeMax)])
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}
