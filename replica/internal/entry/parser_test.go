package entry

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/stoatdb/stoat/tuple"
)

// randomContent returns the content of a part, of which every fourth is damaged. Programs name few
// lists of fields.
func randomContent(r *rand.Rand) []byte {
	c := &Changes{}
	lists := r.IntN(7)
	for i := range r.IntN(5) {
		c.Fields = append(c.Fields, fmt.Sprintf("field %d %d", i, lists))
	}
	for i := range 1 + r.IntN(3) {
		rec := Record{Key: tuple.AppendInt(nil, int64(i)), Delete: r.IntN(5) == 0}
		for j := 0; j < len(c.Fields) && !rec.Delete; j++ {
			rec.Ops = append(rec.Ops, Op{Field: j, Kind: OpSum, Delta: r.Int64N(100)})
		}
		c.Records = append(c.Records, rec)
	}
	p := c.Append(nil)
	switch r.IntN(8) {
	case 0:
		p[r.IntN(len(p))] ^= 1 << r.IntN(8)
	case 1:
		p = p[:r.IntN(len(p))]
	}
	return p
}

func TestParser_equalsOneThatIsNew(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	type parsed struct {
		changes, alone *Changes
	}
	var p Parser
	var all []parsed
	broken := 0
	for range 2000 {
		content := randomContent(r)
		changes, err := p.Parse(content)
		alone, failed := ParseChanges(content)
		if fmt.Sprint(err) != fmt.Sprint(failed) {
			t.Fatalf("%x: %v, and alone %v", content, err, failed)
		}
		if err != nil {
			broken++
			continue
		}
		all = append(all, parsed{changes, alone})
	}
	for _, x := range all { // what came later has not changed it
		if !reflect.DeepEqual(x.changes, x.alone) {
			t.Fatalf("%+v, and alone %+v", x.changes, x.alone)
		}
	}
	if broken == 0 || len(all) == 0 {
		t.Fatalf("%d broken, %d whole", broken, len(all))
	}
}

func TestParser_sharesNamesOfFields(t *testing.T) {
	var contents [][]byte
	for _, name := range []string{"done", "open"} { // programs leave out what is zero
		c := &Changes{Fields: []string{"count", name}, Records: []Record{{Key: []byte{5, 4},
			Ops: []Op{{Field: 0, Kind: OpSum, Delta: 1}, {Field: 1, Kind: OpSum, Delta: 2}}}}}
		contents = append(contents, c.Append(nil))
	}
	var p Parser
	parse := func() {
		for _, content := range contents {
			if _, err := p.Parse(content); err != nil {
				t.Fatal(err)
			}
		}
	}
	parse()
	if allocs := testing.AllocsPerRun(roomMost, parse); allocs > 1 {
		t.Errorf("%v allocations for what was named before", allocs)
	}
}

// Who parses changes alone, and keeps them, has no room for others.
func TestParseChanges_takesLittleMemory(t *testing.T) {
	c := &Changes{Fields: []string{"count"}, Records: []Record{{Key: []byte{5, 4},
		Ops: []Op{{Field: 0, Kind: OpSum, Delta: 1}}}}}
	content := c.Append(nil)
	const times = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if _, err := ParseChanges(content); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / times; n > 2000 {
		t.Errorf("%d bytes for the changes of one record", n)
	}
}
