//go:build !purego && !race

package checksum

import "golang.org/x/sys/cpu"

// folds reports whether foldedSum works on this processor. It is immutable.
var folds = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512VPCLMULQDQ &&
	cpu.X86.HasSSE42

// foldedSum extends the complement of a sum by n bytes from p on, and returns the complement of the
// result. n is a multiple of 64, and at least 256.
//
//go:noescape
func foldedSum(sum uint32, p *byte, n int) uint32
