package run

const (
	// askEvery is after how many bytes of values a job asks whether it is cancelled: to compress
	// them takes about a millisecond.
	askEvery = 256 << 10
	// askEntryBytes is what an entry counts besides its value.
	askEntryBytes = 64
	// AskEntries is how many entries without values an [Asker] lets pass between two questions.
	AskEntries = askEvery / askEntryBytes
)

// Asker asks now and then whether a job is cancelled, by how much the job has read. It is not safe
// for concurrent use.
type Asker struct {
	Cancelled func() bool // nil if the job never is

	unasked int // bytes since it was asked
}

// Read counts bytes that the job has read.
func (a *Asker) Read(bytes int) { a.unasked += bytes }

// ReadEntry counts an entry with a value of the given length.
func (a *Asker) ReadEntry(value int) { a.unasked += askEntryBytes + value }

// Stops reports whether the job is cancelled, if enough was read for the question.
func (a *Asker) Stops() bool { return a.unasked >= askEvery && a.StopsNow() }

// StopsNow reports whether the job is cancelled.
func (a *Asker) StopsNow() bool {
	a.unasked = 0
	return a.Cancelled != nil && a.Cancelled()
}
