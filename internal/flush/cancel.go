package flush

const (
	// askEvery is after how many bytes of values a job asks whether it is cancelled: to compress
	// them takes about a millisecond.
	askEvery = 256 << 10
	// entryBytes is what an entry counts besides its value.
	entryBytes = 64
)

// asking asks now and then whether a job is cancelled.
type asking struct {
	cancelled func() bool // nil if the job never is
	unasked   int         // bytes since it was asked
}

// after counts an entry with a value of the given length. It returns ErrCancelled if the job is
// cancelled.
func (a *asking) after(value int) error {
	if a.unasked += entryBytes + value; a.unasked < askEvery {
		return nil
	}
	a.unasked = 0
	if a.cancelled != nil && a.cancelled() {
		return ErrCancelled
	}
	return nil
}
