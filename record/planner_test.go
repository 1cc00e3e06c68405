package record_test

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// edgy is a record of values at the edges of their types.
type edgy struct {
	A    int8      `stoat:"a,key"`
	B    string    `stoat:"b,key"`
	N    int64     `stoat:"n,index"`
	U    uint64    `stoat:"u"`
	F    float64   `stoat:"f,index"`
	P    *int      `stoat:"p,index"`
	Tags []string  `stoat:"tags,index"`
	Nums []float32 `stoat:"nums"`
	Y    []byte    `stoat:"y,index"`
	T    time.Time `stoat:"t"`
	In   struct {
		City string  `stoat:"city"`
		P    *string `stoat:"p,index"`
	} `stoat:"in"`
	OK bool `stoat:"ok"`
}

// drawn is a field of edgy: its value, or those of a list, and a random one to compare it with.
// Values are nil, or of one of the types that compareValues knows.
type drawn struct {
	name string
	list bool
	of   func(*edgy) []record.Value
	draw func(r *rand.Rand) record.Value
}

// pick returns one of the values.
func pick[V any](r *rand.Rand, values ...V) V { return values[r.IntN(len(values))] }

func edgyText(r *rand.Rand) string {
	return pick(r, "", "\x00", "a", "a\x00", "a\x00b", "a\x01", "ab", "\xff", "\xff\xff", "b")
}

func edgyInt(r *rand.Rand) int64 {
	return pick[int64](r, math.MinInt64, -257, -256, -255, -1, 0, 1, 255, 256, math.MaxInt64)
}

func edgyUint(r *rand.Rand) uint64 { return pick[uint64](r, 0, 1, 255, 256, math.MaxUint64) }

func edgyFloat(r *rand.Rand) float64 {
	return pick(r, math.NaN(), math.Inf(-1), math.Inf(1), -1.5, 0, math.Copysign(0, -1), 1e-300,
		2.5)
}

func edgyTime(r *rand.Rand) time.Time {
	return pick(r, time.Time{}, time.Unix(0, 0), time.Unix(-5, 3), time.Unix(1e9, 999))
}

// drawEdgy returns a random record. It has no pointers to zero values, which gob loses.
func drawEdgy(r *rand.Rand) *edgy {
	e := &edgy{A: int8(r.IntN(6) - 3), B: edgyText(r), N: edgyInt(r), U: edgyUint(r),
		F: edgyFloat(r), Y: []byte(edgyText(r)), T: edgyTime(r), OK: r.IntN(2) == 0}
	if p := r.IntN(5) - 2; p != 0 {
		e.P = &p
	}
	for range r.IntN(4) {
		e.Tags = append(e.Tags, edgyText(r))
		e.Nums = append(e.Nums, float32(edgyFloat(r)))
	}
	e.In.City = edgyText(r)
	if p := edgyText(r); p != "" {
		e.In.P = &p
	}
	return e
}

// edgyFields returns the fields.
func edgyFields() []drawn {
	one := func(of func(*edgy) record.Value) func(*edgy) []record.Value {
		return func(e *edgy) []record.Value { return []record.Value{of(e)} }
	}
	text := func(r *rand.Rand) record.Value { return edgyText(r) }
	return []drawn{
		{"a", false, one(func(e *edgy) record.Value { return int64(e.A) }),
			func(r *rand.Rand) record.Value { return int64(r.IntN(6) - 3) }},
		{"b", false, one(func(e *edgy) record.Value { return e.B }), text},
		{"n", false, one(func(e *edgy) record.Value { return e.N }),
			func(r *rand.Rand) record.Value { return edgyInt(r) }},
		{"u", false, one(func(e *edgy) record.Value { return e.U }),
			func(r *rand.Rand) record.Value { return edgyUint(r) }},
		{"f", false, one(func(e *edgy) record.Value { return e.F }),
			func(r *rand.Rand) record.Value { return edgyFloat(r) }},
		{"p", false, one(func(e *edgy) record.Value {
			if e.P == nil {
				return nil
			}
			return int64(*e.P)
		}), func(r *rand.Rand) record.Value {
			return pick[record.Value](r, nil, int64(-1), int64(1))
		}},
		{"tags", true, func(e *edgy) []record.Value { return valuesOf(e.Tags) }, text},
		{"nums", true, func(e *edgy) (all []record.Value) {
			for _, n := range e.Nums {
				all = append(all, float64(n))
			}
			return all
		}, func(r *rand.Rand) record.Value { return float64(float32(edgyFloat(r))) }},
		{"y", false, one(func(e *edgy) record.Value { return e.Y }),
			func(r *rand.Rand) record.Value { return []byte(edgyText(r)) }},
		{"t", false, one(func(e *edgy) record.Value { return e.T }),
			func(r *rand.Rand) record.Value { return edgyTime(r) }},
		{"in.city", false, one(func(e *edgy) record.Value { return e.In.City }), text},
		{"in.p", false, one(func(e *edgy) record.Value {
			if e.In.P == nil {
				return nil
			}
			return *e.In.P
		}), func(r *rand.Rand) record.Value {
			return pick[record.Value](r, nil, "a", "a\x00", "b")
		}},
		{"ok", false, one(func(e *edgy) record.Value { return e.OK }),
			func(r *rand.Rand) record.Value { return r.IntN(2) == 0 }},
	}
}

func valuesOf(texts []string) (all []record.Value) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

// compareValues compares two values of a field: nil is the least, NaN the greatest.
func compareValues(t *testing.T, a, b record.Value) int {
	t.Helper()
	if a == nil || b == nil {
		return cmp.Compare(boolInt(a != nil), boolInt(b != nil))
	}
	switch a := a.(type) {
	case int64:
		return cmp.Compare(a, b.(int64))
	case uint64:
		return cmp.Compare(a, b.(uint64))
	case string:
		return cmp.Compare(a, b.(string))
	case []byte:
		return bytes.Compare(a, b.([]byte))
	case float64:
		b := b.(float64)
		if n := cmp.Compare(boolInt(math.IsNaN(a)), boolInt(math.IsNaN(b))); n != 0 {
			return n
		}
		return cmp.Compare(a, b)
	case time.Time:
		return a.Compare(b.(time.Time))
	case bool:
		return cmp.Compare(boolInt(a), boolInt(b.(bool)))
	}
	t.Fatalf("a value of type %T", a)
	return 0
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// meant is a predicate and what it means.
type meant struct {
	record.Predicate
	holds func(*edgy) bool
}

// drawMeant returns a random predicate of at most the depth.
func drawMeant(t *testing.T, r *rand.Rand, fields []drawn, depth int) meant {
	t.Helper()
	if depth > 0 && r.IntN(4) == 0 {
		return drawParts(t, r, fields, depth-1)
	}
	f := pick(r, fields...)
	v, w := f.draw(r), f.draw(r)
	if f.list {
		return meant{record.Has(f.name, v), func(e *edgy) bool {
			return slices.ContainsFunc(f.of(e), func(x record.Value) bool {
				return compareValues(t, x, v) == 0
			})
		}}
	}
	// The order of a record's value to v, and to w; some predicates do not hold for nil.
	is := func(p record.Predicate, ok func(v, w int, isNil bool) bool) meant {
		return meant{p, func(e *edgy) bool {
			x := f.of(e)[0]
			return ok(compareValues(t, x, v), compareValues(t, x, w), x == nil)
		}}
	}
	switch r.IntN(9) {
	case 0:
		return is(record.Ne(f.name, v), func(v, _ int, _ bool) bool { return v != 0 })
	case 1:
		return is(record.Lt(f.name, v), func(v, _ int, null bool) bool { return v < 0 && !null })
	case 2:
		return is(record.Le(f.name, v), func(v, _ int, null bool) bool { return v <= 0 && !null })
	case 3:
		return is(record.Gt(f.name, v), func(v, _ int, _ bool) bool { return v > 0 })
	case 4:
		return is(record.Ge(f.name, v), func(v, _ int, _ bool) bool { return v >= 0 })
	case 5:
		return is(record.Between(f.name, v, w),
			func(v, w int, null bool) bool { return v >= 0 && w <= 0 && !null })
	case 6:
		return is(record.In(f.name, v, w), func(v, w int, _ bool) bool { return v == 0 || w == 0 })
	case 7:
		if prefix, ok := v.(string); ok {
			return meant{record.HasPrefix(f.name, prefix), func(e *edgy) bool {
				text, ok := f.of(e)[0].(string)
				return ok && strings.HasPrefix(text, prefix)
			}}
		}
	}
	return is(record.Eq(f.name, v), func(v, _ int, _ bool) bool { return v == 0 })
}

// drawParts returns a random Or or And.
func drawParts(t *testing.T, r *rand.Rand, fields []drawn, depth int) meant {
	t.Helper()
	var predicates []record.Predicate
	var parts []meant
	for range 1 + r.IntN(3) {
		m := drawMeant(t, r, fields, depth)
		predicates, parts = append(predicates, m.Predicate), append(parts, m)
	}
	if r.IntN(2) == 0 {
		return meant{record.Or(predicates...), func(e *edgy) bool {
			return slices.ContainsFunc(parts, func(m meant) bool { return m.holds(e) })
		}}
	}
	return meant{record.And(predicates...), func(e *edgy) bool {
		return !slices.ContainsFunc(parts, func(m meant) bool { return !m.holds(e) })
	}}
}

func TestQuery_plansWithoutChangingTheResult(t *testing.T) {
	r := newRand(t)
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecGob} {
		db := openMemory(t)
		c := mustOpen(t, db, "edgy", &record.Options[edgy]{Codec: codec, Indexes: []record.Index{
			{Name: "cityN", Fields: []string{"in.city", "n"}},
			{Name: "tagsF", Fields: []string{"tags", "f"}},
			{Name: "fTagsP", Fields: []string{"f", "tags", "p"}},
			{Name: "okPU", Fields: []string{"ok", "p", "u"}},
			{Name: "unique", Fields: []string{"a", "u", "y", "b"}, Unique: true},
		}})
		type key struct {
			a int8
			b string
		}
		model := map[key]*edgy{}
		for range 4 {
			update(t, db, func(tx *stoat.Tx) error {
				for range 15 {
					e := drawEdgy(r)
					model[key{e.A, e.B}] = e
					if err := c.Put(tx, e); err != nil {
						return err
					}
				}
				return c.Verify(tx)
			})
			var all []*edgy
			for _, e := range model {
				all = append(all, e)
			}
			slices.SortFunc(all, compareKeys)
			check := func(tx *stoat.Tx) error { // plans of both kinds of transactions
				for range 40 {
					checkPlan(t, r, tx, c, all)
				}
				return nil
			}
			view(t, db, check)
			update(t, db, check)
		}
	}
}

// compareKeys compares the keys of two records.
func compareKeys(a, b *edgy) int {
	return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

// checkPlan compares the result of a random query with what it means for all the records, which are
// sorted by key.
func checkPlan(
	t *testing.T, r *rand.Rand, tx *stoat.Tx, c *record.Collection[edgy], all []*edgy,
) {
	t.Helper()
	fields := edgyFields()
	q, want := c.Query(), slices.Clone(all)
	for range r.IntN(4) {
		m := drawMeant(t, r, fields, 2)
		q = q.Where(m.Predicate)
		want = slices.DeleteFunc(want, func(e *edgy) bool { return !m.holds(e) })
	}
	f := pick(r, fields...)
	ordered := !f.list && r.IntN(3) > 0
	if ordered {
		limit, offset := r.IntN(5), r.IntN(4)
		q = q.OrderBy(f.name).Limit(limit).Offset(offset)
		slices.SortStableFunc(want, func(a, b *edgy) int {
			return compareValues(t, f.of(a)[0], f.of(b)[0])
		})
		if r.IntN(2) == 0 {
			q = q.Desc()
			slices.Reverse(want)
		}
		if want = want[min(offset, len(want)):]; limit > 0 {
			want = want[:min(limit, len(want))]
		}
	}
	got := collect(t, q.All(tx))
	var keys []*edgy
	for _, key := range collect(t, q.Keys(tx)) {
		keys = append(keys, &edgy{A: int8(key[0].(int64)), B: key[1].(string)})
	}
	if !ordered {
		slices.SortFunc(got, compareKeys)
		slices.SortFunc(keys, compareKeys)
	}
	same := func(a, b *edgy) bool { return compareKeys(a, b) == 0 }
	n, err := q.Count(tx)
	if int(n) != len(want) || err != nil || !slices.EqualFunc(got, want, same) ||
		!slices.EqualFunc(keys, want, same) {
		t.Fatalf("%s\n%d records, %d keys, count %d, %v, want %d; or they are others",
			q.Explain(tx), len(got), len(keys), n, err, len(want))
	}
}
