//go:build !purego && !race

package pattern

import "golang.org/x/sys/cpu"

// hasAssembly reports whether decodeTokens works on this processor. It is immutable.
var hasAssembly = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// decodeTokens decodes tokens in assembly. It starts with the given step, or with a token if that
// is 0, and stops before what is left to Go: times, damage, and what out or p may be too short for.
// It returns the step before which it stopped, or 0 if it was a token, and whether only the op of
// that step is left to do, because its phrase is written. It changes bit, n, fields and spans.
//
// room is not negative. Tokens and steps start there in out at the latest; padding bytes fit there.
//
//go:noescape
func decodeTokens(s *decoder, end uint, room int, from uint32) (step uint32, op bool)
