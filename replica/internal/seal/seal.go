// Package seal signs and verifies Ed25519 signatures by the rules of ZIP 215, under which every
// implementation accepts the same signatures.
//
// RFC 8032 leaves open whether points may have other encodings than the shortest, and whether the
// equation is multiplied by the cofactor. A signature made to fall into that gap would be valid on
// some replicas only, and split them. ZIP 215 decides: S must be canonical, A and R may be any
// encoding of a point, and the equation is 8·S·B = 8·R + 8·k·A. The functions are safe for
// concurrent use.
package seal

import (
	"crypto/ed25519"
	"crypto/sha512"

	"filippo.io/edwards25519"
)

// Size is the size of a signature in bytes.
const Size = ed25519.SignatureSize

// KeySize is the size of a public key in bytes.
const KeySize = ed25519.PublicKeySize

// Verify reports whether sig is a signature of the message under the public key. What package
// ed25519 accepts, ZIP 215 accepts, too: only what it refuses takes the second look.
func Verify(key *[KeySize]byte, message []byte, sig *[Size]byte) bool {
	return ed25519.Verify(key[:], message, sig[:]) || verifyCofactored(key, message, sig)
}

// verifyCofactored decides by the rules alone.
func verifyCofactored(key *[KeySize]byte, message []byte, sig *[Size]byte) bool {
	a, err := new(edwards25519.Point).SetBytes(key[:])
	if err != nil {
		return false
	}
	r, err := new(edwards25519.Point).SetBytes(sig[:32])
	if err != nil {
		return false
	}
	s, err := new(edwards25519.Scalar).SetCanonicalBytes(sig[32:])
	if err != nil {
		return false
	}
	h := sha512.New()
	h.Write(sig[:32])
	h.Write(key[:])
	h.Write(message)
	k, err := new(edwards25519.Scalar).SetUniformBytes(h.Sum(nil))
	if err != nil {
		return false
	}
	minusA := new(edwards25519.Point).Negate(a)
	p := new(edwards25519.Point).VarTimeDoubleScalarBaseMult(k, minusA, s) // S·B − k·A
	p.Subtract(p, r).MultByCofactor(p)
	return p.Equal(edwards25519.NewIdentityPoint()) == 1
}
