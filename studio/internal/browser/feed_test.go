package browser

import (
	"testing"

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
