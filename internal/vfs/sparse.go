package vfs

// Sparse is implemented by folders that open files that they do not have, because those are kept
// elsewhere too.
type Sparse interface {
	// Elsewhere reports whether a file is not in the folder, and would be opened all the same.
	Elsewhere(name string) bool
}

// Elsewhere reports whether a file is not in a folder, and would be opened all the same.
func Elsewhere(files ReadOnly, name string) bool {
	sparse, ok := files.(Sparse)
	return ok && sparse.Elsewhere(name)
}
