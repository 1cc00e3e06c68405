package session

import "slices"

// tellHolds tells the peer whose content this side asks for, unless that is everything.
func (s *Session) tellHolds() error {
	names, err := s.space.Holds()
	if err != nil || names == nil || len(names) > holdsMax {
		return err
	}
	if p := appendHolds(nil, names); len(p) <= FrameMax {
		s.send(frameHolds, p)
	}
	return nil
}

// receiveHolds handles which content the peer asks for.
func (s *Session) receiveHolds(p []byte) error {
	names, err := parseHolds(p)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.source.reach != nil {
		return broken("it says too late what it asks for")
	}
	s.source.reader.All, s.source.reader.Collections = false, names
	return nil
}

// askForContent asks for content that is missing in entries that are here, if the peer may have
// some: it has not been asked since its last mark, or has given some of it. The peer marks the end.
func (s *Session) askForContent() (asked bool, err error) {
	k := &s.sink
	gaps, err := s.space.Gaps(cursorsMax)
	if err != nil {
		return false, err
	}
	n := uint64(0)
	all := make([]want, len(gaps))
	for i, g := range gaps {
		all[i] = want{g.Log, g.From, g.To, true}
		n += g.To - g.From
	}
	if n == 0 || k.gap > 0 && n >= k.gap {
		k.gap = 0
		return false, nil
	}
	k.gap = n
	for part := range slices.Chunk(all, wantsMax) {
		w := wants{content: true, wants: part}
		s.send(frameWant, w.append(nil))
	}
	return true, nil
}
