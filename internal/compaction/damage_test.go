package compaction

import "fmt"

// size returns the length of a file.
func (s *store) size(path string) int64 {
	s.t.Helper()
	f, err := s.files.Open(path)
	check(s.t, err)
	size, err := f.Size()
	check(s.t, err)
	check(s.t, f.Close())
	return size
}

// flip inverts the byte at an offset of a file, which it rewrites.
func (s *store) flip(path string, at int64) {
	s.t.Helper()
	old, err := s.files.Open(path)
	check(s.t, err)
	data := make([]byte, s.size(path))
	_, err = old.ReadAt(data, 0)
	check(s.t, err)
	check(s.t, s.files.Remove(path))
	data[at] ^= 0xFF
	f, err := s.files.Create(path)
	check(s.t, err)
	_, err = f.WriteAt(data, 0)
	check(s.t, err)
	check(s.t, f.Close())
}

// checkHarmless fails the test unless damage that a compaction of other did not notice, for
// instance in a filter or in a value that nothing needs, made no difference to its outcome.
func (s *store) checkHarmless(other *store, name string, at int64) {
	s.t.Helper()
	what := fmt.Sprintf("%s damaged at %d", name, at)
	checkSame(s.t, what, other.state(), s.state().visible())
}
