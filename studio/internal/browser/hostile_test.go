package browser

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/studio"
)

// hostile are keys, values and names that break pages which trust them.
func hostile() []string {
	return []string{
		`<script>alert("key")</script>`,
		`<img src=x onerror=alert(1)>`,
		`"><svg onload=alert(2)>`,
		`javascript:alert(3)`,
		`</textarea><iframe src="//example.invalid"></iframe>`,
		"\x00\x01\x02\x1b[31m\x7f\u0085",
		"txt.\u202egpj.exe\u202c\u2066\u2067",
		"\u200b\ufeff\u2028\u2029\u00ad\u2060",
		"e" + strings.Repeat("\u0301", 300),
		"\xff\xfe\xc0\x80\xed\xa0\x80",
		"مفتاح \u05de\u05e4\u05ea\u05d7",
		"__proto__", "constructor", "%2e%2e%2f", "a.b&path=c#view=overview",
		strings.Repeat("W", 10_000),
		strings.Repeat("\n", 10_000),
		strings.Repeat("\u202e\x00", 3_000),
		strings.Repeat("🦡", 2_500),
	}
}

func hostileDatabase(t *testing.T) *stoat.DB {
	db := memory(t)
	for _, text := range hostile() {
		put(t, db, text, text, text)
		put(t, db, "all", text, fmt.Sprintf(`{%q: [%q, 1e999, null]}`, text, text))
	}
	put(t, db, "all", "deep", strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000))
	return db
}

func TestPage_showsHostileDataSafely(t *testing.T) {
	t.Parallel()
	const all = "#view=keys&path=YWxs" // the bucket of that name
	w := visit(t, serve(t, studio.New(hostileDatabase(t), nil)))
	for _, width := range []int64{1280, 390} {
		w.run(chromedp.EmulateViewport(width, 900))
		w.until(`document.querySelectorAll('.tree li').length >= 20`)
		w.fits("the overview")
		paths := await[[]string](w, `[...document.querySelectorAll('.tree a')].map((a) => a.hash)`)
		for i, hash := range paths {
			if width > 1000 || i%4 == 0 || hash == all {
				showAll(w, hash)
			}
		}
	}
	loaded := await[int](w, `document.querySelectorAll('script, iframe, object, img').length`)
	if loaded != 2 {
		t.Errorf("the page has %d elements that load something, not its script and mark", loaded)
	}
}

// showAll shows the keys of a bucket, and each of their values.
func showAll(w *window, hash string) {
	w.t.Helper()
	w.do(fmt.Sprintf(`(location.hash = %q)`, hash))
	w.until(fmt.Sprintf(`location.hash === %q && document.querySelector('.foot')?.innerText`, hash))
	w.until(`document.querySelector('.foot').innerText.includes('these are all')`)
	w.fits(fmt.Sprintf("the keys of %.80s", hash))
	tall := await[float64](w, `Math.max(0, ...[...document.querySelectorAll('tbody tr, .tree .row')]
		.map((row) => row.getBoundingClientRect().height))`)
	if tall > 120 {
		w.t.Errorf("a row of %.80s is %v points high", hash, tall)
	}
	keys := await[int](w, `document.querySelectorAll('tbody [data-id]').length`)
	for i := range keys {
		w.do(fmt.Sprintf(`document.querySelectorAll('tbody [data-id] a')[%d].click()`, i))
		w.until(`document.querySelector('tr.chosen') && document.querySelector('.side .value')`)
		w.fits(fmt.Sprintf("value %d of %.80s", i, hash))
		w.do(`history.back()`)
		w.until(`document.querySelector('.side').hidden`)
	}
}

func TestPage_showsUnseenCharactersAsEscapes(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "box", "a\u202eb\x00", "line\r\n\u200b")
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("box")
	w.shows(`a\u{202e}b\x00`)
	w.click(`a\u{202e}b\x00`)
	w.until(`document.querySelector('.value').textContent === 'line\\r\n\\u{200b}'`)
	raw := await[bool](w, `/[\u202e\u200b\u0000]/.test(document.documentElement.outerHTML)`)
	if raw {
		t.Error("the page has characters that cannot be seen")
	}
}

func TestPage_showsAValueOf100MB(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "box", "huge", string(bytes.Repeat([]byte("0123456789"), 10<<20)))
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("box")
	w.shows("100 MiB, not shown here")
	w.click("huge")
	w.shows("bytes 0 to 65,536 of 104,857,600")
	w.click("End")
	w.shows("bytes 104,792,064 to 104,857,600")
	if n := await[int](w, `document.body.innerText.length`); n > 1<<20 {
		t.Errorf("the page shows %d characters", n)
	}
}
