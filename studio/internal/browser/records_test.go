package browser

import (
	"testing"

	"github.com/stoatdb/stoat/studio"
)

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
