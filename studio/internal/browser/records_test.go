package browser

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/studio"
)

const ulmersFrom70 = 19 // customers of the shop, whose random numbers are always the same

func TestPage_queriesRecords(t *testing.T) {
	t.Parallel()
	w := visit(t, serve(t, studio.New(shop(t), nil)))
	w.click("customers")
	w.shows("50 records so far", "Plan", "900 records; codec binary")
	w.click("More …")
	w.shows("100 records so far")
	w.write("#query", `city = "Ulm" and age >= 70 order by age desc`)
	w.click("Run")
	w.until(`location.hash.includes('Ulm')`)
	w.until(`document.querySelector('.plan').innerText.includes('age')`)
	rows := await[[][]string](w, `[...document.querySelectorAll('[aria-label="Records"] tbody tr')]
		.map((row) => [...row.cells].map((cell) => cell.innerText))`)
	head := await[[]string](w, `[...document.querySelectorAll('[aria-label="Records"] thead th')]
		.map((head) => head.innerText)`)
	city, age := slices.Index(head, "city"), slices.Index(head, "age")
	ages := make([]int, 0, len(rows))
	for _, row := range rows {
		n, err := strconv.Atoi(row[age])
		ok(t, err)
		if ages = append(ages, -n); row[city] != "Ulm" || n < 70 {
			t.Errorf("%q is not wanted", row)
		}
	}
	if len(ages) != ulmersFrom70 || !slices.IsSorted(ages) {
		t.Errorf("%d records, of the ages %v", len(ages), ages)
	}
	w.write("#query", `city = "Nowhere"`)
	w.click("Run")
	w.shows("No record matches.")
	w.click("age") // puts it into the query
	w.until(`document.querySelector('#query').value.endsWith(' age ')`)
}

func TestPage_pointsIntoAQueryThatIsWrong(t *testing.T) {
	t.Parallel()
	w := visit(t, serve(t, studio.New(shop(t), nil)))
	w.click("customers")
	w.write("#query", `age > > 3`)
	w.click("Run")
	w.until(`document.querySelector('.pointer mark').innerText === '>'`)
	w.until(`document.querySelector('.pointer').innerText === 'age > > 3'`)
	w.shows("column 7")
	w.until(`document.activeElement.id === 'query' && document.activeElement.selectionStart === 6`)
	w.takeTroubles() // the browser reports the status 400
}

func TestPage_showsNumbersAndTextsOfJSON(t *testing.T) {
	t.Parallel()
	type thing struct {
		ID   int64 `stoat:"id,key"`
		Big  uint64
		Name string
	}
	db := memory(t)
	things, err := record.Open(db, "things", &record.Options[thing]{Codec: record.CodecJSON})
	ok(t, err)
	entries, err := feed.Open(db, "entries", &feed.Options[thing]{Encoding: feed.EncodingJSON})
	ok(t, err)
	// JavaScript has no such number, and Go escapes such a text.
	big := &thing{7, 12345678901234567891, "<\u202e>"}
	ok(t, db.Update(func(tx *stoat.Tx) error {
		if _, err := entries.Append(tx, big); err != nil {
			return err
		}
		return things.Put(tx, big)
	}))
	const shown = `{"ID": 7, "Big": 12345678901234567891, "Name": "<\u{202e}>"}`
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("things")
	w.shows(shown)
	w.click("entries")
	w.shows("1 entry", shown)
}
