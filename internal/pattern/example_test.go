package pattern_test

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/pattern"
)

func Example() {
	var samples [][]byte
	for i := range 100 {
		samples = append(samples, fmt.Appendf(nil, `{"id":%d,"name":"user_%d"}`, i*7919, i*7919))
	}
	d := pattern.Train(samples)
	encoded := d.NewEncoder().Append(nil, []byte(`{"id":31415,"name":"user_31415"}`))
	size, err := d.DecodedLen(encoded)
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := d.Decode(make([]byte, 0, size), encoded)
	fmt.Println(string(value), err)
	fmt.Println(len(value), "bytes in", len(encoded))
	// Output:
	// {"id":31415,"name":"user_31415"} <nil>
	// 32 bytes in 3
}
