package replica

import "time"

// Refusal is an entry from others that was not taken, nor what follows it in its log.
type Refusal struct {
	EntryID
	Time   time.Time `json:"time"`
	Reason Reason    `json:"reason"`
}

// noteRefusal remembers that an entry, which a device has brought, is refused, or that one of the
// two gives the other nothing.
func (s *Space) noteRefusal(from DeviceID, id EntryID, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused++
	s.refusals.add(s.sourceOf(from), Refusal{id, s.now(), Reason{reason}})
}
