package vfs

// Verified is implemented by files that may verify what is read from them.
type Verified interface {
	// VerifiesReads reports whether a read returns what was written at its place, or an error, whoever
	// has changed the file: then its readers need not read more than they want, to verify it.
	VerifiesReads() bool
}

// VerifiesReads reports whether a file verifies what is read from it.
func VerifiesReads(file File) bool {
	verified, ok := file.(Verified)
	return ok && verified.VerifiesReads()
}
