package valuelog

import "testing"

func TestName_isReadBack(t *testing.T) {
	for number, want := range map[uint64]string{7: "000007.values", 1234567: "1234567.values"} {
		if got := Name(number); got != want {
			t.Errorf("the name of %d is %q, want %q", number, got, want)
		}
		if got, ok := ParseName(want); !ok || got != number {
			t.Errorf("the number of %q is %d, %v", want, got, ok)
		}
	}
	for _, name := range []string{"", ".values", "7.values", "000007.table", "000007.values~"} {
		if number, ok := ParseName(name); ok {
			t.Errorf("%q is the name of %d", name, number)
		}
	}
}
