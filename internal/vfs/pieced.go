package vfs

// Pieced is implemented by files that are not stored as they are read.
type Pieced interface {
	// InPieces reports whether a crash can lose any piece of the file that was not synced, so that it
	// reads as zeros: of other files, it loses ends of sectors.
	InPieces() bool
}

// InPieces reports whether a crash can lose any piece of a file that was not synced.
func InPieces(file File) bool {
	pieced, ok := file.(Pieced)
	return ok && pieced.InPieces()
}
