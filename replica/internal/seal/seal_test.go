package seal

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"filippo.io/edwards25519"
)

func sign(t *testing.T, message string) (key [KeySize]byte, sig [Size]byte) {
	t.Helper()
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	return [KeySize]byte(private[32:]), [Size]byte(ed25519.Sign(private, []byte(message)))
}

func TestVerify_acceptsOnlyTheMessage(t *testing.T) {
	key, sig := sign(t, "message")
	if !Verify(&key, []byte("message"), &sig) || !verifyCofactored(&key, []byte("message"), &sig) {
		t.Error("a good signature is refused")
	}
	if Verify(&key, []byte("messagf"), &sig) {
		t.Error("it holds for another message")
	}
	for i := range sig {
		sig[i] ^= 1
		if Verify(&key, []byte("message"), &sig) {
			t.Errorf("byte %d does not matter", i)
		}
		sig[i] ^= 1
	}
	key[3] ^= 1
	if Verify(&key, []byte("message"), &sig) {
		t.Error("it holds for another key")
	}
}

// smallOrder returns all encodings of the eight points of small order: the canonical ones, and
// those whose coordinate is not reduced or whose sign has nothing to say.
func smallOrder(t *testing.T) (all [][32]byte) {
	t.Helper()
	generator := []byte{0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d,
		0x10, 0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92,
		0xac, 0x03, 0x7a}
	g, err := new(edwards25519.Point).SetBytes(generator)
	if err != nil {
		t.Fatal(err)
	}
	p := edwards25519.NewIdentityPoint()
	for range 8 {
		all = append(all, [32]byte(p.Bytes()))
		p.Add(p, g)
	}
	field := func(first, last byte) (e [32]byte) { // first, then 0xff, then last
		for i := range e {
			e[i] = 0xFF
		}
		e[0], e[31] = first, last
		return e
	}
	zero, one := field(0xED, 0x7F), field(0xEE, 0x7F) // p and p+1
	all = append(all, zero, one, field(0xED, 0xFF), field(0xEE, 0xFF))
	return append(all, [32]byte{0: 1, 31: 0x80}, field(0xEC, 0xFF)) // ±1 with the sign of no x
}

// ZIP 215 accepts S = 0 with any key and any R of small order, in any encoding.
func TestVerify_acceptsSmallOrderInEveryEncoding(t *testing.T) {
	points := smallOrder(t)
	strict := 0
	for _, a := range points {
		for _, r := range points {
			var sig [Size]byte
			copy(sig[:], r[:])
			if !Verify(&a, []byte("Zcash"), &sig) {
				t.Errorf("A = %x, R = %x is refused", a, r)
			}
			if ed25519.Verify(a[:], []byte("Zcash"), sig[:]) {
				strict++
			}
		}
	}
	if strict == 0 || strict == len(points)*len(points) {
		t.Errorf("package ed25519 accepts %d: the second look is not tested", strict)
	}
}

func TestVerify_refusesAnUnreducedS(t *testing.T) {
	key, sig := sign(t, "m")
	order := []byte{0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9,
		0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10}
	carry := 0
	for i, b := range order {
		carry += int(sig[32+i]) + int(b)
		sig[32+i], carry = byte(carry), carry>>8
	}
	if Verify(&key, []byte("m"), &sig) {
		t.Error("S plus the order of the group is accepted")
	}
}

func TestVerify_refusesWhatIsNoPoint(t *testing.T) {
	var none [32]byte
	none[0] = 2 // no x has this y
	if _, err := new(edwards25519.Point).SetBytes(none[:]); err == nil {
		t.Fatal("the sample is a point")
	}
	var sig [Size]byte
	if Verify(&none, []byte("m"), &sig) {
		t.Error("the key is not a point")
	}
	one := edwards25519.NewIdentityPoint().Bytes()
	copy(sig[:], none[:])
	if Verify((*[32]byte)(one), []byte("m"), &sig) {
		t.Error("R is not a point")
	}
}
