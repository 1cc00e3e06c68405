package pattern

import (
	"bytes"
	"testing"
)

func TestWork_growsWithWhatThereIsToDo(t *testing.T) {
	d := handmade(t)
	work := func(value string) int {
		t.Helper()
		encoded := d.NewEncoder().Append(nil, []byte(value))
		checkDecodes(t, d, encoded, []byte(value))
		return d.Work(encoded)
	}
	once, often := work("id: 1234 and "), work(string(bytes.Repeat([]byte("id: 1234 and "), 100)))
	if once <= 0 || often < 20*once || often > 100*once {
		t.Errorf("a value is %d ns of work, and a hundred times as much is %d", once, often)
	}
	random := make([]byte, 1000)
	for i := range random {
		random[i] = byte(i * i >> 3)
	}
	if n := work(string(random)); n > often/10 {
		t.Errorf("a value that is not encoded is %d ns of work", n)
	}
	if n := work(""); n != 0 {
		t.Errorf("an empty value is %d ns of work", n)
	}
}
