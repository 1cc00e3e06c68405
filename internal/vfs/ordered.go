package vfs

// Ordered is a folder whose files may have to be written front to back, each byte once.
type Ordered interface {
	// InOrder reports whether they have to be.
	InOrder() bool
}

// InOrder reports whether the files of a folder have to be written front to back.
func InOrder(f Folder) bool {
	ordered, ok := f.(Ordered)
	return ok && ordered.InOrder()
}
