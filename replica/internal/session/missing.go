package session

import (
	"bytes"
	"slices"
)

// note notes which of the heads are missing here, and which are not any more.
func (s *Session) note(heads []Head) error {
	k := &s.sink
	logs, err := s.space.Find(heads)
	if err != nil {
		return err
	}
	if k.missing == nil {
		k.missing = map[[prefixSize]byte]uint64{}
	}
	for i, l := range logs {
		have, name := l.has(), heads[i].Log
		switch want := max(k.missing[name], heads[i].Next); {
		case have >= want:
			delete(k.missing, name)
		case len(k.missing) < cursorsMax || k.missing[name] > 0:
			k.missing[name] = want
		default:
			k.lossy = true
		}
	}
	if k.listed {
		return s.noteOwn()
	}
	return nil
}

// noteOwn notes that the peer has nothing of the own log that is not here.
func (s *Session) noteOwn() error {
	var own [prefixSize]byte
	id, err := s.space.Own()
	if err != nil {
		return err
	}
	copy(own[:], id[:])
	if s.sink.missing[own] == 0 {
		s.mu.Lock()
		if !s.sink.ownKnown {
			s.sink.ownKnown = true
			s.wakeLocked()
		}
		s.mu.Unlock()
	}
	return nil
}

// stillMissing returns what was announced or sent, and neither is merged nor waits here; and how
// many entries are not merged.
func (s *Session) stillMissing() (dropped []want, lack uint64, err error) {
	k := &s.sink
	var heads []Head
	for name, next := range k.missing {
		heads = append(heads, Head{Log: name, Next: next})
	}
	slices.SortFunc(heads, func(a, b Head) int { return bytes.Compare(a.Log[:], b.Log[:]) })
	logs, err := s.space.Find(heads)
	if err != nil {
		return nil, 0, err
	}
	for i, l := range logs {
		h := &heads[i]
		if l.has() >= h.Next {
			delete(k.missing, h.Log)
			continue
		}
		lack += h.Next - l.has()
		from := l.has()
		if !k.gaps {
			from = max(from, l.Waiting)
		}
		if k.parted[h.Log] {
			from = 0 // the whole branch
		}
		if from < h.Next {
			dropped = append(dropped, want{log: h.Log, from: from, to: h.Next})
		}
	}
	k.gaps = false
	return dropped, lack, nil
}

// haveAll notes that the peer has nothing that is not here.
func (s *Session) haveAll() error {
	if err := s.space.Sync(); err != nil {
		return err
	}
	s.sink.listed = true
	s.mu.Lock()
	s.sink.caughtUp = s.peer.flags&flagWhole != 0
	s.mu.Unlock()
	return s.noteOwn()
}

// keepEach is how many batches a session may forget if the program is killed: the peer announces
// the logs that they changed again, and sends nothing twice. Other sessions with the same database
// know them meanwhile.
const keepEach = 64

// keep stores how far this side has what the peer has.
func (s *Session) keep() error {
	k := &s.sink
	if k.token == k.kept {
		return nil
	}
	k.kept = k.token
	return s.space.Keep(s.peer.database, k.token)
}
