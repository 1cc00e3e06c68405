package session

// write writes frames until the session ends.
func (s *Session) write() error {
	var buf, packed []byte
	var pack packer
	for {
		changed := s.changed()
		s.mu.Lock()
		buf, s.out = append(buf[:0], s.out...), s.out[:0]
		if len(buf) == 0 || cap(s.out) > burst {
			s.out = nil
		}
		ending, acks := s.ending, s.acks
		s.acks = nil
		s.mu.Unlock()
		if !ending && len(buf) < burst {
			var err error
			if buf, err = s.give(buf); err != nil {
				s.fail(err)
				continue
			}
		}
		if buf = append(buf, acks...); len(buf) > 0 {
			var err error
			if packed, err = pack.pack(packed[:0], buf); err != nil {
				s.fail(err)
				continue
			}
			if err := s.writePatiently(packed); err != nil {
				return err
			}
		}
		switch {
		case ending:
			return nil
		case len(buf) > 0 || s.finish():
			continue
		case changed == nil && s.source.hears: // so that it hears what has changed since
			continue
		}
		buf, packed = nil, nil // nothing is kept while nothing happens
		select {
		case <-s.wake:
		case <-changed:
		}
	}
}

// changed returns the channel of Space.Changed once this side looks at the news.
func (s *Session) changed() <-chan struct{} {
	if !s.source.hears {
		return nil
	}
	return s.space.Changed()
}

// send queues a frame.
func (s *Session) send(k kind, payload []byte) {
	s.mu.Lock()
	s.sendLocked(k, payload)
	s.mu.Unlock()
}

func (s *Session) sendLocked(k kind, payload []byte) {
	if s.ending {
		return
	}
	s.out = appendFrame(s.out, k, payload)
	s.limitLocked()
}

// limitLocked ends the session with a peer that does not read, and wakes the writer.
func (s *Session) limitLocked() {
	if len(s.out)+len(s.acks) > outMax && s.err == nil {
		s.err = broken("it does not read what it asks for")
		s.out, s.acks, s.ending = nil, nil, true
	}
	s.wakeLocked()
}

// acknowledgeLocked queues an ack.
func (s *Session) acknowledgeLocked(a ack) {
	if !s.ending {
		s.acks = appendFrame(s.acks, frameAck, a.append(nil))
		s.limitLocked()
	}
}

// wakeLocked makes the writer look for something to do.
func (s *Session) wakeLocked() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
