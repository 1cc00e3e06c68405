package vfs

// Distant is implemented by files whose reads take long, however little they ask for. Their readers
// say what they are going to read, and read little just to verify. Neither method waits.
type Distant interface {
	File
	// Expect says that small parts of the bytes [from, to) will be read again and again.
	Expect(from, to int64)
	// WillNeed says that all of the bytes [from, to) are about to be read.
	WillNeed(from, to int64)
	// Lead returns how many bytes may be needed soon at a time: of more, some may be gone before they
	// are read.
	Lead() int64
}
