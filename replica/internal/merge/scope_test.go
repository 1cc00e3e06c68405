package merge

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/model"
	"github.com/stoatdb/stoat/replica/internal/wire"
	"github.com/stoatdb/stoat/tuple"
)

const (
	scopeLogs    = 3
	scopeEntries = 3
)

// scope is three logs of three entries each about one record.
type scope struct {
	facts [scopeLogs][scopeEntries]model.Fact
	sees  [scopeLogs][scopeEntries][scopeLogs]int // how many entries of each log it comes after
	names []string
}

var scopeKey = tuple.AppendInt(nil, 1)

// newScope makes a scope. Authors write in random order, and have seen random entries; with the
// seed 0, nobody has seen any of another.
func newScope(seed uint64, change func(rng *rand.Rand) entry.Record, names []string) *scope {
	rng := rand.New(rand.NewPCG(seed, 3))
	s := &scope{names: names}
	var written [scopeLogs]int
	for n := range scopeLogs * scopeEntries {
		log := rng.IntN(scopeLogs)
		for written[log] == scopeEntries {
			log = (log + 1) % scopeLogs
		}
		seq := written[log]
		e := &entry.Entry{Time: hlc.Time(10 + n/2), Kind: entry.KindData}
		sees := &s.sees[log][seq]
		if seq > 0 {
			*sees = s.sees[log][seq-1]
		}
		for other := range scopeLogs {
			if other == log || written[other] == 0 || rng.IntN(3) == 0 || seed == 0 {
				continue
			}
			upTo := rng.IntN(written[other])
			if s.facts[other][upTo].Entry.Time >= e.Time {
				continue
			}
			e.Context = append(e.Context, entry.Head{Log: logID(other), Seq: uint64(upTo)})
			sees[other] = max(sees[other], upTo+1)
			for l, n := range s.sees[other][upTo] {
				sees[l] = max(sees[l], n)
			}
		}
		sees[log] = seq
		record := change(rng)
		record.Key = scopeKey
		changes := entry.Changes{Fields: names, Records: []entry.Record{record}}
		e.Parts = []entry.Part{{Group: "c", Data: changes.Append(nil)}}
		s.facts[log][seq] = model.Fact{Log: logID(log), Seq: uint64(seq), Entry: e}
		written[log]++
	}
	return s
}

func logID(log int) entry.Hash { return entry.Hash{byte(7 * (log + 1) % 5), byte(log)} }

// at is the order of a scope as one entry knows it.
type at struct {
	*scope
	log, seq int
}

func (a at) ID(log uint32) entry.Hash { return logID(int(log)) }
func (a at) Seen(s Stamp) bool        { return a.sees[a.log][a.seq][s.Log] > int(s.Seq) }

// inOrders calls fn with every order of arrival in which no entry comes before one that it has
// seen.
func (s *scope) inOrders(fn func(order [][2]int)) {
	var order [][2]int
	var next [scopeLogs]int
	var visit func()
	visit = func() {
		if len(order) == scopeLogs*scopeEntries {
			fn(order)
			return
		}
		for log := range scopeLogs {
			seq := next[log]
			if seq == scopeEntries || !s.ready(log, seq, next) {
				continue
			}
			next[log]++
			order = append(order, [2]int{log, seq})
			visit()
			order = order[:len(order)-1]
			next[log]--
		}
	}
	visit()
}

func (s *scope) ready(log, seq int, have [scopeLogs]int) bool {
	for l, n := range s.sees[log][seq] {
		if have[l] < n {
			return false
		}
	}
	return true
}

// root returns the root of a space in which only the record exists.
func root(r *Record, o Order) [32]byte {
	var all []chunk.Subtree
	if !r.Empty() {
		c := &chunk.Cutter{Emit: func(_, content []byte) error {
			all = append(all, chunk.Subtree{Collection: "c", Leaves: 1, Root: chunk.Leaf(content)})
			return nil
		}}
		_ = cmp.Or(c.Add(scopeKey, r.Append(nil, o)), c.Close())
	}
	return chunk.Root(entry.Hash{}, all)
}

// rules are changes of each kind, with the names of the fields.
func rules() map[string]func(rng *rand.Rand) entry.Record {
	one := func(op func(rng *rand.Rand) entry.Op) func(rng *rand.Rand) entry.Record {
		return func(rng *rand.Rand) entry.Record { return entry.Record{Ops: []entry.Op{op(rng)}} }
	}
	number := func(rng *rand.Rand) []byte { return tuple.AppendInt(nil, int64(rng.IntN(3))) }
	items := func(kind entry.OpKind) func(rng *rand.Rand) entry.Op {
		return func(rng *rand.Rand) entry.Op {
			op := entry.Op{Kind: kind}
			item := entry.Item{Key: number(rng)}
			if rng.IntN(2) == 0 {
				op.Removed = []entry.Item{item}
				return op
			}
			if op.Added = []entry.Item{item}; kind == entry.OpEntries {
				op.Added[0].Value = number(rng)
			}
			return op
		}
	}
	of := func(kind entry.OpKind) func(rng *rand.Rand) entry.Op {
		return func(rng *rand.Rand) entry.Op { return entry.Op{Kind: kind, Value: number(rng)} }
	}
	return map[string]func(rng *rand.Rand) entry.Record{
		"set": one(of(entry.OpSet)), "keep": one(of(entry.OpKeep)),
		"max": one(of(entry.OpMax)), "min": one(of(entry.OpMin)),
		"sum": one(func(rng *rand.Rand) entry.Op {
			return entry.Op{Kind: entry.OpSum, Delta: int64(rng.IntN(5)) - 2}
		}),
		"elements": one(items(entry.OpElements)), "entries": one(items(entry.OpEntries)),
		"delete": func(rng *rand.Rand) entry.Record {
			if rng.IntN(2) == 0 {
				return entry.Record{Delete: true}
			}
			return entry.Record{Ops: []entry.Op{of(entry.OpSet)(rng)}}
		},
		"touch": func(rng *rand.Rand) entry.Record { return entry.Record{Delete: rng.IntN(3) == 0} },
	}
}

// Three logs of three entries arrive in every possible order: the state is that of the model, and
// it survives being stored.
func TestApply_inEveryOrder(t *testing.T) {
	patterns := uint64(60)
	if testing.Short() {
		patterns = 4
	}
	for name, change := range rules() {
		t.Run(name, func(t *testing.T) {
			orders := 0
			for seed := range patterns {
				s := newScope(seed, change, []string{"f"})
				var facts []model.Fact
				for log := range scopeLogs {
					facts = append(facts, s.facts[log][:]...)
				}
				want, err := model.Root(entry.Hash{}, &entry.Space{}, facts)
				if err != nil {
					t.Fatal(err)
				}
				s.inOrders(func(order [][2]int) {
					orders++
					if got := s.merge(t, order); got != want {
						t.Fatalf("pattern %d: the state after %v is not that of the model", seed, order)
					}
				})
			}
			t.Logf("%d orders", orders)
		})
	}
}

// merge merges the entries in an order and returns the root of the state. It stores the state and
// reads it back in the middle.
func (s *scope) merge(t *testing.T, order [][2]int) [32]byte {
	r := &Record{}
	for i, next := range order {
		f := &s.facts[next[0]][next[1]]
		changes, err := entry.ParseChanges(f.Entry.Parts[0].Data)
		if err != nil {
			t.Fatal(err)
		}
		stamp := Stamp{Time: f.Entry.Time, Log: uint32(next[0]), Seq: uint64(next[1])}
		r.Apply(&changes.Records[0], s.names, stamp, at{s, next[0], next[1]})
		if i%4 == 1 {
			r = restored(t, r)
		}
	}
	return root(r, at{scope: s})
}

// beside is a record that has some values. The name of each field is its number as one character.
type beside map[string][]byte

func (b beside) Number(name string) int {
	number, _ := utf8.DecodeRuneInString(name)
	return int(number)
}

func (b beside) Name(number int) string {
	if number < 0 || number > utf8.MaxRune || !utf8.ValidRune(rune(number)) {
		return ""
	}
	return string(rune(number))
}

func (b beside) Value(name string) []byte { return b[name] }

// restored returns the state as it is after it was stored beside a record that shows it.
func restored(t *testing.T, r *Record) *Record {
	in := beside{}
	for i := range r.Fields {
		if f := &r.Fields[i]; len(f.Versions) > 0 && i%2 == 0 {
			in[f.Name] = Winner(f.Versions).Value
		}
	}
	got := &Record{}
	if err := got.ParseSidecar(r.AppendSidecar(nil, in), in); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != fmt.Sprint(r) {
		t.Fatalf("%+v was stored, and is %+v", r, got)
	}
	return got
}

// What ParseSidecar accepts is stored as something that it accepts again.
func FuzzParseSidecar(f *testing.F) {
	in := beside{"\x01": tuple.AppendString(nil, "a"), "\x02": tuple.AppendInt(nil, 7)}
	r := &Record{Alive: []Stamp{{5, 1, 2}}, Fields: []Field{
		{Name: "\x01", Kind: entry.OpSet, Versions: []Version{{Stamp{5, 1, 2}, in["\x01"]}}},
		{Name: "\x02", Kind: entry.OpKeep, Versions: []Version{
			{Stamp{3, 2, 2}, tuple.AppendNil(nil)}, {Stamp{5, 1, 2}, in["\x02"]}}},
		{Name: "\x03", Kind: entry.OpSum, Sum: -4},
		{Name: "\x04", Kind: entry.OpMax, Value: tuple.AppendInt(nil, 7)},
		{Name: "\x05", Kind: entry.OpEntries, Items: []Item{{tuple.AppendInt(nil, 7),
			[]Version{{Stamp{4, 1, 1}, tuple.AppendInt(nil, 8)}}}}},
	}}
	f.Add(r.AppendSidecar(nil, in))
	r.Fields = append(r.Fields, Field{Name: "\u2af3", Kind: entry.OpSum, Sum: 1}) // has no bit
	f.Add(r.AppendSidecar(nil, in))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, second := &Record{}, &Record{}
		if r.ParseSidecar(p, in) != nil {
			return
		}
		again := r.AppendSidecar(nil, in)
		err := second.ParseSidecar(again, in)
		if err != nil || !bytes.Equal(second.AppendSidecar(nil, in), again) {
			t.Errorf("%x: %v", p, err)
		}
	})
}

// A state that leaves a value to the record is none without it.
func TestParseSidecar_refusesAValueThatTheRecordLacks(t *testing.T) {
	in := beside{"\x01": tuple.AppendInt(nil, 7)}
	versions := []Version{{Stamp{5, 1, 2}, in["\x01"]}}
	for _, kind := range []entry.OpKind{entry.OpSet, entry.OpKeep} {
		r := &Record{Fields: []Field{{Name: "\x01", Kind: kind, Versions: versions}}}
		p := r.AppendSidecar(nil, in)
		if err := new(Record).ParseSidecar(p, beside{}); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%x: %v", p, err)
		}
	}
}

// A state of a map has a value for each key.
func TestParseSidecar_refusesAKeyWithoutAValue(t *testing.T) {
	items := []Item{{tuple.AppendInt(nil, 7), []Version{{Stamp: Stamp{5, 1, 2}}}}}
	for kind, want := range map[entry.OpKind]error{
		entry.OpElements: nil, entry.OpEntries: wire.ErrMalformed,
	} {
		r := &Record{Fields: []Field{{Name: "\x01", Kind: kind, Items: items}}}
		p := r.AppendSidecar(nil, beside{})
		if err := new(Record).ParseSidecar(p, beside{}); !errors.Is(err, want) {
			t.Errorf("%x: %v", p, err)
		}
	}
}

// A state of which two fields are the same one is none.
func TestParseSidecar_refusesAFieldTwice(t *testing.T) {
	in := beside{"\x01": tuple.AppendInt(nil, 7)}
	set := func(s Stamp) Field {
		return Field{Name: "\x01", Kind: entry.OpSet, Versions: []Version{{s, in["\x01"]}}}
	}
	sum := Field{Name: "\x02", Kind: entry.OpSum, Sum: 1}
	for _, twice := range []Field{set(Stamp{6, 1, 3}), sum} {
		r := &Record{Fields: []Field{set(Stamp{5, 1, 2}), sum, twice}}
		p := r.AppendSidecar(nil, in)
		if err := new(Record).ParseSidecar(p, in); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%x: %v", p, err)
		}
	}
}

// A state with many stamps is stored in time that grows with their number.
func TestAppendSidecar_manyStamps(t *testing.T) {
	r := &Record{Fields: []Field{{Name: "\x01", Kind: entry.OpElements}}}
	f := &r.Fields[0]
	for i := range 300_000 {
		f.Items = append(f.Items, Item{tuple.AppendInt(nil, int64(i)),
			[]Version{{Stamp: Stamp{hlc.Time(i), 1, uint64(i)}}}})
	}
	got := &Record{}
	err := got.ParseSidecar(r.AppendSidecar(nil, beside{}), beside{})
	if err != nil || len(got.Fields[0].Items) != len(f.Items) ||
		got.Fields[0].Items[299_999].Versions[0].Stamp != f.Items[299_999].Versions[0].Stamp {
		t.Error("another state was read", err)
	}
}
