//go:build !amd64 || purego

package pattern

// hasAssembly reports whether decodeTokens works on this processor.
const hasAssembly = false

func decodeTokens(*decoder, uint, int, uint32) (step uint32, op bool) { return 0, false }
