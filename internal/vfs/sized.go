package vfs

// Sized is implemented by file systems that would have to ask for the size of a file.
type Sized interface {
	// OpenSized is Open of a file of which the first size bytes count; it may have more.
	OpenSized(name string, size int64) (File, error)
}

// OpenSized opens an existing file of a known size for reading only. It may have another size all
// the same.
func OpenSized(files ReadOnly, name string, size int64) (File, error) {
	if sized, ok := files.(Sized); ok {
		return sized.OpenSized(name, size)
	}
	return files.Open(name)
}
