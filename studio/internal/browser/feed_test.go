package browser

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	"github.com/stoatdb/stoat/studio"
)

func TestPage_showsHowFarConsumersAre(t *testing.T) {
	t.Parallel()
	w := visit(t, serve(t, studio.New(shop(t), nil)))
	w.click("events")
	w.shows("invoices", "up to date", "28 behind", "410 behind", "50 entries shown")
	first := `document.querySelector('[aria-label="Entries"] tbody th').innerText`
	w.until(first + ` === '639'`)
	w.click("More …")
	w.shows("100 entries shown")
	w.do(`document.querySelector('#oldest').click()`)
	w.until(first + ` === '0'`)
}

func TestPage_tellsWhatConsumersHaveLost(t *testing.T) {
	t.Parallel()
	db := memory(t)
	f, err := feed.Open[event](db, "crowd", nil)
	ok(t, err)
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for range 10 {
			if _, err := f.Append(tx, new(event)); err != nil {
				return err
			}
		}
		for i := range 501 { // one more than are shown
			if err := f.SetCursor(tx, fmt.Sprintf("consumer-%03d", i), 10); err != nil {
				return err
			}
		}
		err := f.SetCursor(tx, "a-slow-one", 3)
		return errors.Join(err, f.Retain(tx, feed.Retention{Count: 4}))
	}))
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("crowd")
	w.shows("7 behind, has lost 3 entries", "up to date",
		"There are more consumers: these are the first by name.")
	if n := await[int](w, `document.body.innerText.split('has lost').length - 1`); n != 1 {
		t.Errorf("%d consumers have lost entries, not 1", n)
	}
}
