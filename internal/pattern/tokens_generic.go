//go:build !amd64 || purego || race

package pattern

// hasAssembly reports whether decodeTokens works on this processor. The race detector does not see
// what assembly reads and writes, so it gets the decoder in Go.
const hasAssembly = false

func decodeTokens(*decoder, uint, int, uint32) (step uint32, op bool) { return 0, false }
