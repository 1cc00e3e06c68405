package tuple_test

import (
	"fmt"
	"log"
	"time"

	"github.com/stoatdb/stoat/tuple"
)

// A function that takes a Reader can read the part of a key that several kinds of keys share.
func ExampleReader_Time() {
	period := func(r *tuple.Reader) (from, to time.Time, err error) {
		if from, err = r.Time(); err != nil {
			return from, to, err
		}
		to, err = r.Time()
		return from, to, err
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	key, err := tuple.Encode("booking", "room 7", noon, noon.Add(90*time.Minute))
	if err != nil {
		log.Fatal(err)
	}

	r := tuple.NewReader(key)
	for range 2 { // the kind of key, and the room
		if err := r.Skip(); err != nil {
			log.Fatal(err)
		}
	}
	from, to, err := period(r)
	fmt.Println(from.Format(time.Kitchen), to.Sub(from), err)
	// Output: 12:00PM 1h30m0s <nil>
}

// Decode says which elements sort in descending order. The functions of a Reader, by contrast,
// return all elements as they were before Desc.
func ExampleDescending() {
	key, err := tuple.Encode("score", tuple.Desc(900), "ada")
	if err != nil {
		log.Fatal(err)
	}
	values, err := tuple.Decode(key)
	if err != nil {
		log.Fatal(err)
	}
	for _, v := range values {
		if d, isDescending := v.(tuple.Descending); isDescending {
			fmt.Println(d.Value, "or less")
		} else {
			fmt.Println(v)
		}
	}
	// Output:
	// score
	// 900 or less
	// ada
}
