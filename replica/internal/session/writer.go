package session

// write writes frames until the session ends.
func (s *Session) write() error {
	o := outlet{s: s}
	for {
		changed := s.changed()
		ending, err := s.collect(&o)
		if err != nil {
			s.fail(err)
			continue
		}
		some := len(o.frames) > 0
		if err := o.flush(); err != nil {
			return err
		}
		switch {
		case ending:
			return o.wait()
		case some || s.finish():
			continue
		case changed == nil && s.source.hears: // so that it hears what has changed since
			continue
		}
		if err := o.wait(); err != nil {
			return err
		}
		o = outlet{s: s, pack: o.pack} // nothing is kept while nothing happens
		select {
		case <-s.wake:
		case <-changed:
		}
	}
}

// collect puts what is queued, and what the peer wants, into the outlet.
func (s *Session) collect(o *outlet) (ending bool, err error) {
	s.mu.Lock()
	o.frames, s.out = append(o.frames[:0], s.out...), s.out[:0]
	if len(o.frames) == 0 || cap(s.out) > burst {
		s.out = nil
	}
	ending, acks := s.ending, s.acks
	s.acks = nil
	s.mu.Unlock()
	if !ending && len(o.frames) < burst {
		o.frames, err = s.give(o.frames)
	}
	o.frames = append(o.frames, acks...)
	return ending, err
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
