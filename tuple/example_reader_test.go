package tuple_test

import (
	"fmt"

	"github.com/stoatdb/stoat/tuple"
)

// A key is appended and read element by element. An element of another type than asked for is an
// error, so a key of another kind is noticed.
func ExampleReader() {
	id := [16]byte{15: 7}
	key := tuple.AppendUUID(tuple.AppendBool(nil, true), id)
	key = tuple.AppendUint(tuple.AppendInt(key, -5), 300)
	key = tuple.AppendBytes(tuple.AppendFloat(key, 0.5), []byte{0, 1})
	key = tuple.AppendNil(key)

	r := tuple.NewReader(key)
	fmt.Println(r.Bool())
	fmt.Println(r.UUID())
	fmt.Println(r.Int())
	fmt.Println(r.Bytes()) // the next element is 300
	fmt.Println(r.Uint())
	fmt.Println(r.Float())
	fmt.Println(r.Bytes())
	fmt.Println(r.Nil(), r.More(), r.End())
	// Output:
	// true <nil>
	// [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 7] <nil>
	// -5 <nil>
	// [] tuple element 3: found an integer, want bytes
	// 300 <nil>
	// 0.5 <nil>
	// [0 1] <nil>
	// true false <nil>
}

// Fields whose number is not known before are read until there are no more.
func ExampleReader_More() {
	key, err := tuple.Append([]byte{}, "a", "b", "c")
	if err != nil {
		panic(err)
	}
	for r := tuple.NewReader(key); r.More(); {
		word, err := r.String()
		if err != nil {
			panic(err)
		}
		fmt.Println(word, r.Len())
	}
	// Output:
	// a 6
	// b 3
	// c 0
}
