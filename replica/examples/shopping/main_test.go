package main

import (
	"bytes"
	"testing"
)

func TestRun_endsWithEqualStates(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v after\n%s", err, &out)
	}
	want := `Ann made a list, Ben has got it from the server:
  Ben: 1× milk
Both are offline, and change the list.
They are online again: amounts add up, and one note shows.
  Ann: 1× bread
  Ann: 1× flour
  Ann: 4× milk (oat milk)
  conflict: the note of milk has 2 values
Ann decides; Ben has 0 conflicts.
The server lost its disk. Ben's phone has refilled it:
  server: 1× bread
  server: 6× eggs
  server: 1× flour
  server: 4× milk (one of them oat milk)
All three have the same state, by its root.
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}
