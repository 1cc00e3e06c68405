package checksum

import "testing"

func TestOf_isCRC32C(t *testing.T) {
	// The check value of CRC-32C, from its definition in RFC 3720, appendix B.4.
	if got := Of([]byte("123456789")); got != 0xE3069283 {
		t.Errorf("Of(123456789) = %08x, want e3069283", got)
	}
}

func TestExtend_continuesASum(t *testing.T) {
	if got := Extend(Of([]byte("1234")), []byte("56789")); got != Of([]byte("123456789")) {
		t.Errorf("Extend gives %08x", got)
	}
}

func TestExtend_differsBySeed(t *testing.T) {
	if Extend(1, []byte("x")) == Extend(2, []byte("x")) {
		t.Error("two seeds give one sum")
	}
}
