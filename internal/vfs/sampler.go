package vfs

import "sync/atomic"

const (
	// samplingBits says how rarely values are looked at while none is cold: one of 256. The look
	// costs a system call, as much as reading a few warm values.
	samplingBits = 8
	// alertReads is how many values after a cold one are all looked at. That costs about as much
	// as the disk access that it may move out of the way.
	alertReads = 256
	// suspectReads is how many reads of a suspect map are all looked at: few enough not to matter if
	// all of it is in memory.
	suspectReads = 8
)

// Sampler finds out whether the values in a map, or other parts of it, tend to be cold, that is not
// in memory, and brings them in before they are touched.
//
// Touching a cold page blocks one of Go's processors until the disk has answered; a system call
// that brings it in first does not, and reads no more than the value. But asking whether a page is
// cold costs more than reading a warm value. So a Sampler looks at a few values until one is cold,
// and then at each until about alertReads in a row were warm.
//
// The sample depends on the offset and on a turn that advances with each look. So reads write to
// shared memory only with a look, and a value that is read over and over is looked at once.
//
// The zero value is ready for use. Safe for concurrent use.
type Sampler struct {
	turn  atomic.Uint32 // which values are in the sample
	alert atomic.Int32  // so many reads are all looked at; may be below 0
}

// Suspect makes s look at the first reads of a map that was just opened.
func (s *Sampler) Suspect() { s.alert.Store(suspectReads) }

// Due reports whether to look at the value at offset before it is touched.
func (s *Sampler) Due(offset uint64) bool {
	return s.alert.Load() > 0 || Scatter(offset)>>(32-samplingBits) == s.turn.Load()%(1<<samplingBits)
}

// Scatter spreads offsets over all numbers. Multiplying once is not enough for it: equal steps from
// one offset to the next would come out as equal steps again.
func Scatter(offset uint64) uint32 {
	const odd = 0x9E37_79B9_7F4A_7C15 // with about as many ones as zeros
	offset *= odd
	offset ^= offset >> 32
	return uint32(offset * odd >> 32)
}

// Warm looks at a value that is due, and waits until it is in memory, as far as the system can.
func (s *Sampler) Warm(value []byte) { s.WarmWith(value, nil) }

// WarmWith is Warm, but if the value is not in memory, it also asks the system to begin to read
// around, bytes around the value.
func (s *Sampler) WarmWith(value, around []byte) {
	resident := Resident(value)
	s.note(resident)
	if !resident {
		WillNeed(around)
		Populate(value)
	}
}

// note records what a look at a value has shown.
func (s *Sampler) note(resident bool) {
	switch alert := s.alert.Load(); {
	case !resident && alert != alertReads:
		s.alert.Store(alertReads)
	case resident && alert > 0:
		s.alert.Add(-1)
	case resident:
		s.turn.Add(1)
	}
}
