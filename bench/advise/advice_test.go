package advise

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/report"
)

// made returns a table of made-up medians, in the order of the columns; candidates without any have
// failed.
func made(columns []column, names string, medians ...[]float64) table {
	i := -1
	return newTable(strings.Fields(names), columns, func(name, row string) []float64 {
		if row == columns[0].row {
			i++
		}
		for j, c := range columns {
			if c.row == row && j < len(medians[i]) {
				return []float64{medians[i][j], medians[i][j], medians[i][j]}
			}
		}
		return nil
	})
}

// Made-up layouts: single, bulk, read, many, sum, update, bytes.
func madeLayouts(engine string, names string, medians ...[]float64) table {
	t := made(layoutColumns(true), names, medians...)
	t.Engine = engine
	return t
}

// Made-up engines: write, get, iterate, bytes.
func madeEngines(names string, medians ...[]float64) table {
	return made(valueColumns(true), names, medians...)
}

// saying returns the advice on much data as one text.
func saying(t testing.TB, f findings) string {
	t.Helper()
	f.pairs, f.space = 100_000, true
	said := f.advice()
	for _, text := range said {
		if text == "" || strings.Contains(text, "  ") || !strings.HasSuffix(text, ".") {
			t.Errorf("no sentence: %q", text)
		}
	}
	return strings.Join(said, "\n")
}

// expect checks that the advice has all texts, and none of those that begin with "not:".
func expect(t testing.TB, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if no, ok := strings.CutPrefix(text, "not:"); ok {
			if strings.Contains(said, no) {
				t.Errorf("%q is in\n%s", no, said)
			}
		} else if !strings.Contains(said, text) {
			t.Errorf("no %q in\n%s", text, said)
		}
	}
}

func TestAdvice_isTheLayoutThatIsBestInEverything(t *testing.T) {
	said := saying(t, findings{layouts: []table{madeLayouts("stoat", "binary binary+names json gob",
		[]float64{100, 10, 10, 10, 10, 10, 38},
		[]float64{100, 14, 20, 20, 20, 12, 80},
		[]float64{100, 20, 21, 30, 40, 20, 100},
		[]float64{100, 50, 200, 200, 200, 50, 150},
	)}})
	expect(t, said,
		"Store each record as one binary value (`binary`): compared with JSON, it writes 2.0 × as "+
			"fast, reads 2.1 × as fast, reads many 3.0 × as fast, updates 2.0 × as fast and takes "+
			"38 % of the space.\n",
		"stay with the data: `binary+names` writes in 1.4 × the time, reads in 2.0 × the time, ",
		"; `json` writes in 2.0 × the time",
		"takes 2.6 × the space.",
		"a record takes 10.0 ns in one transaction for all, and 100 ns in its own.",
		"Avoid `gob`: overall it costs 8.3 × as much as `binary`.",
		"not:If you mostly", "not:JSON as", "not:good enough", "not:Engine", "not:Not compared",
	)
}

func TestAdvice_isJSONIfItIsGoodEnough(t *testing.T) {
	said := saying(t, findings{layouts: []table{madeLayouts("stoat", "binary json",
		[]float64{10, 10, 10, 10, 10, 10, 100},
		[]float64{10, 10, 14, 13, 40, 10, 110},
	)}})
	expect(t, said,
		"Store each record as JSON (`json`), which people and programs can read: overall it "+
			"costs 1.1 × as much as the best, `binary`, and up to 1.2 × is good enough. But "+
			"`binary` reads 1.4 × as fast and reads many 1.3 × as fast.\n",
		"If you mostly add up or filter single fields: compared with `json`, `binary` adds up a "+
			"field 4.0 × as fast.",
		"not:stay with", "not:Not `", "not:own.",
	)
	said = saying(t, findings{layouts: []table{madeLayouts("stoat", "json gob",
		[]float64{10, 10, 10, 10, 10, 10, 100},
		[]float64{10, 10, 10, 10, 10, 10, 250},
	)}})
	expect(t, said, "as JSON (`json`): compared with `gob`, it takes 40 % of the space.",
		"not:good enough")
}

func TestAdvice_namesTheLayoutForSingleFields(t *testing.T) {
	said := saying(t, findings{layouts: []table{madeLayouts("stoat", "binary json multikv",
		[]float64{10, 10, 10, 10, 34, 10, 100},
		[]float64{10, 10, 40, 40, 80, 10, 200},
		[]float64{90, 30, 20, 10, 10, 4, 290},
	)}})
	expect(t, said,
		"If you mostly add up or filter single fields: compared with `binary`, `multikv` adds up "+
			"a field 3.4 × as fast, but writes in 3.0 × the time, reads in 2.0 × the time and "+
			"takes 2.9 × the space.",
		"If you mostly change single fields: compared with `binary`, `multikv` updates 2.5 × as "+
			"fast, ",
	)
}

func TestAdvice_claimsNothingBelowTheNoise(t *testing.T) {
	said := saying(t, findings{
		layouts: []table{madeLayouts("stoat", "binary binary+names gob",
			[]float64{100, 100, 100, 100, 114, 100, 100},
			[]float64{110, 113, 110, 110, 100, 110, 110},
			[]float64{113, 110, 114, 114, 110, 114, 114},
		)},
		engines: madeEngines("stoat pebble",
			[]float64{100, 100, 100, 100}, []float64{114, 90, 110, 110}),
	})
	expect(t, said,
		"(`binary`). Overall, `binary+names` and `gob` cost the same within 15 %.",
		"`binary+names` costs nothing more.",
		"Engine: `stoat` and `pebble` cost the same overall, within 15 %.",
		"not:as fast", "not:the time", "not:the space", "not:Not ", "not:better",
	)
}

func TestAdvice_takesTheFirstOfEqualLayouts(t *testing.T) {
	said := saying(t, findings{layouts: []table{madeLayouts("stoat", "binary binary+names json",
		[]float64{10, 11, 11, 11, 11, 11, 110},
		[]float64{10, 10, 10, 10, 10, 10, 100},
		[]float64{10, 30, 30, 30, 30, 30, 200},
	)}})
	expect(t, said, "(`binary`): compared with JSON, it writes 2.7 × as fast",
		"Overall, `binary+names` costs the same within 15 %.")
}

func TestFigures_differByTheirSamplesToo(t *testing.T) {
	near := figure{Median: 100, Low: 60, High: 140}
	if far := (figure{Median: 130, Low: 120, High: 150}); near.below(far) || far.below(near) {
		t.Error("the samples overlap")
	}
	if far := (figure{Median: 150, Low: 141, High: 160}); !near.below(far) || far.below(near) {
		t.Error("the samples do not overlap")
	}
	few := func(v float64) figure { return newFigure([]float64{v}, "ns") }
	if few(100).below(few(130)) || !few(100).below(few(140)) {
		t.Error("one sample must differ by more")
	}
	if size := newFigure([]float64{116}, "B"); !newFigure([]float64{100}, "B").below(size) {
		t.Error("a size is no matter of samples")
	}
}

func TestAdvice_saysWhenAPeerIsBetter(t *testing.T) {
	said := saying(t, findings{engines: madeEngines("stoat bbolt rocksdb",
		[]float64{10, 10, 10, 100}, []float64{20, 30, 20, 400}, []float64{10, 20, 20, 60},
	)})
	expect(t, said,
		"Engine: `stoat`. Overall, the next one, `rocksdb`, costs 1.2 × as much.",
		"What others do better than `stoat`: `rocksdb` takes 60 % of the space.",
		"not:Your data",
	)
	said = saying(t, findings{home: "bbolt", engines: madeEngines("stoat bbolt pebble",
		[]float64{20, 20, 20, 100}, []float64{40, 20, 20, 400}, []float64{10, 10, 10, 100},
	)})
	expect(t, said,
		"Engine: `pebble`. Overall, the next one, `stoat`, costs 1.7 × as much.",
		"`stoat` costs 1.7 × as much as `pebble` overall: it writes in 2.0 × the time, reads in "+
			"2.0 × ",
		"Your data is in `bbolt`: compared with that, `pebble` writes 4.0 × as fast, reads 2.0 × "+
			"as fast, iterates 2.0 × as fast and takes 25 % of the space.",
		"not:What others",
	)
	said = saying(t, findings{home: "bbolt", engines: madeEngines("stoat bbolt",
		[]float64{10, 10, 10, 100}, []float64{10, 11, 11, 100},
	)})
	expect(t, said, "Your data is in `bbolt`: overall, no other engine is worth a move.")
}

func TestAdvice_leavesOutWhatHasFailed(t *testing.T) {
	said := saying(t, findings{
		layouts: []table{
			madeLayouts("stoat", "binary json", nil, []float64{1}),
			madeLayouts("bbolt", "binary json", []float64{5, 5, 5, 5, 5, 5, 5}, []float64{1, 1}),
		},
		engines: madeEngines("stoat badger", []float64{1, 1, 1, 1}, []float64{0.1}),
	})
	expect(t, said,
		"(`binary`): nothing else was measured completely.",
		"Not compared, because not measured completely: `json`.",
		"Engine: only `stoat` was measured completely, so nothing is compared.",
		"What others do better than `stoat`: `badger` writes 10 × as fast.",
		"Not compared, because not measured completely: `badger`.",
	)
	said = saying(t, findings{engines: madeEngines("stoat", nil)})
	expect(t, said, "No engine could be measured completely.")
}

func TestAdvice_comparesLayoutsOfTwoEngines(t *testing.T) {
	first := madeLayouts("stoat", "binary multikv",
		[]float64{1, 1, 1, 1, 1, 1, 1}, []float64{2, 2, 2, 2, 2, 2, 2})
	same, other := first, madeLayouts("bbolt", "binary multikv",
		[]float64{1, 2, 1, 1, 1, 2, 2}, []float64{1, 1, 1, 1, 1, 1, 1})
	same.Engine = "bbolt"
	expect(t, saying(t, findings{layouts: []table{first, same}}),
		"On `bbolt` the same layout is best.")
	expect(t, saying(t, findings{layouts: []table{first, other}}), "On `bbolt` it is `multikv`, "+
		"which there writes 2.0 × as fast, updates 2.0 × as fast and takes 50 % of the space.")
}

func TestAdvice_doesNotJudgeTheSpaceOfLittleData(t *testing.T) {
	f := findings{pairs: 1, engines: made(valueColumns(false), "stoat bbolt",
		[]float64{10, 10, 10, 10}, []float64{10, 10, 10, 9000})}
	said := strings.Join(f.advice(), "\n")
	expect(t, said, "`stoat` and `bbolt` cost the same", "These are 1 pair only",
		"Space is not judged, because there is too little data.", "not:of the space")
}

func TestText_fitsInto80Columns(t *testing.T) {
	const names = "binary binary+names json gob multikv nested"
	var medians [][]float64
	for i := range 6 {
		v := float64(i+1) * 123_456_789.3
		medians = append(medians, []float64{v, v, v, v, v, v, v / 1000})
	}
	a := answer{
		Subject: subject{
			File:    "/some/where/users.jsonl",
			extent:  extent{Pairs: 7412, ValueBytes: 7412*312 + 100},
			Records: 7412, Fields: make([]string, 9), Sum: strings.Repeat("long", 30), Update: "n",
		},
		Layouts: []table{madeLayouts("stoat", names, medians...)},
		Engines: madeEngines("stoat an-engine-of-a-long-name", []float64{1, 1, 1, 1}, []float64{1}),
	}
	a.Advice = findings{layouts: a.Layouts, engines: a.Engines, pairs: 10}.advice()
	noLuck := strings.Repeat("no luck ", 30)
	a.Failures = []report.Failure{{Engine: "e", Task: "t", Round: 1, Error: noLuck}}
	var out strings.Builder
	a.Text(&out)
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > textWidth || strings.HasSuffix(line, " ") {
			t.Errorf("line %q", line)
		}
	}
	expect(t, out.String(), "7,412 records of 312 bytes on average (from users.jsonl), 9 fields\n",
		"\nan-engine-of-a-long-name\n", "failed: e, t, round 1: no luck")
	bolt := subject{File: "a.db", bolt: true, Records: 3, Fields: make([]string, 1),
		extent: extent{Pairs: 5, Buckets: 2, ValueBytes: 14}}
	const want = "5 pairs in 2 buckets with values of 3 bytes on average (from a.db), 3 of them " +
		"JSON objects, with 1 field"
	if got := fmt.Sprint(bolt); got != want {
		t.Error(got)
	}
}
