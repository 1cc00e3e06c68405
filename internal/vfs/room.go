package vfs

// Roomy is implemented by file systems that may know how much room their disk has.
type Roomy interface {
	// Room returns how many bytes can be written to the disk that a folder is on; known is false if
	// that cannot be told. A quota may allow less.
	Room(dir string) (bytes int64, known bool)
}

// Room returns how many bytes can be written to the disk that a folder is on, as [Roomy] has it.
func Room(files FS, dir string) (bytes int64, known bool) {
	roomy, ok := files.(Roomy)
	if !ok {
		return 0, false
	}
	return roomy.Room(dir)
}

// roomMost is more than any disk has, and so little that sums do not overflow.
const roomMost = 1 << 60

// Room implements [Roomy].
func (osFS) Room(dir string) (bytes int64, known bool) {
	free, known := roomOf(dir)
	return int64(min(free, roomMost)), known
}
