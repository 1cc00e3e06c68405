package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/studio"
)

func TestPage_browsesBucketsKeysAndValues(t *testing.T) {
	t.Parallel()
	db := memory(t)
	ok(t, db.Update(func(tx *stoat.Tx) error {
		outer, err := tx.CreateBucket([]byte("outer"))
		if err != nil {
			return err
		}
		inner, err := outer.CreateBucket([]byte("inner"))
		if err != nil {
			return err
		}
		for i := range 130 {
			key := fmt.Appendf(nil, "key-%03d", i)
			if err := inner.Put(key, []byte(`{"n":12345678901234567890}`)); err != nil {
				return err
			}
		}
		return outer.Put([]byte{0, 1, 0xff}, []byte{0xde, 0xad, 0xbe, 0xef})
	}))
	w := visit(t, serve(t, studio.New(db, nil)))
	w.shows("Overview", "outer", "read-only")
	w.click("Buckets in outer")
	w.click("inner")
	w.shows("key-000", "key-099", "100 keys shown")
	w.click("More")
	w.shows("key-129", "130 keys; these are all")
	w.write("#prefix", "key-12")
	w.until(`location.hash.includes('prefix=')`)
	w.shows("10 keys; these are all", "key-129")
	w.click("key-120")
	w.shows(`"n": 12345678901234567890`)
	w.click("Hex")
	w.shows("7b 22 6e 22")
	w.run(chromedp.NavigateBack())
	w.shows(`"n": 12345678901234567890`)
	w.run(chromedp.NavigateBack())
	w.until(`document.querySelector('.side').hidden`)
	w.click("outer")
	w.shows("00 01 ff")
	w.write("#prefix", `\x00\x01`)
	w.shows("1 key; these are all")
	w.write("#prefix", "nothing")
	w.shows("No key starts like this")
}

func TestPage_readsALargeValueInPieces(t *testing.T) {
	t.Parallel()
	db := memory(t)
	value := make([]byte, 150<<10)
	for i := range value {
		value[i] = "0123456789abcdef"[i>>12&15]
	}
	copy(value[len(value)-8:], "the end.")
	put(t, db, "large", "key", string(value))
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("large")
	w.click("key")
	w.shows("150 KiB", "bytes 0 to 65,536 of 153,600")
	w.click("On")
	w.shows("bytes 65,536 to 131,072")
	w.click("On")
	w.shows("bytes 131,072 to 153,600", "the end.")
	link := await[string](w, `document.querySelector('.side a[download]').href`)
	size := await[int](w, fmt.Sprintf(`fetch(%q).then((a) => a.blob()).then((b) => b.size)`, link))
	if size != len(value) {
		t.Errorf("the download has %d bytes, not %d", size, len(value))
	}
}

func TestPage_showsAChangeAsItHappens(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "box", "before", "1")
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("box")
	w.click("Live changes")
	w.shows("Live, 0 changes")
	put(t, db, "box", "during", "seen")
	w.shows("during", "seen", "Live, 1 change")
	w.click("Pause")
	put(t, db, "box", "paused", "held back")
	w.shows("Paused, 1 waiting")
	if await[bool](w, `document.body.innerText.includes('held back')`) {
		t.Error("a change is shown while the page is paused")
	}
	ok(t, db.Update(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("box"))
		if err != nil {
			return err
		}
		return b.Delete([]byte("before"))
	}))
	w.shows("Paused, 2 waiting")
	w.click("Go on")
	w.shows("held back", "deleted", "Live, 3 changes")
}

func TestPage_followsWhatAnotherWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	put(t, db, "box", "first", "1")
	h, err := studio.Follow(dir, nil, nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, h.Close()) })
	w := visit(t, serve(t, h))
	w.shows("follows", "read-only")
	w.click("box")
	w.click("Live changes")
	w.shows("Live, at commit")
	put(t, db, "box", "second", "2")
	w.shows("a new state, 1 further")
	w.click("Keys")
	w.shows("second")
}

func TestPage_drawsTheLevels(t *testing.T) {
	t.Parallel()
	w := visit(t, serve(t, studio.New(shop(t), nil)))
	w.until(`document.querySelectorAll('.levels .bottom').length > 20`)
	w.until(`document.querySelector('.levels .young') && document.querySelector('.levels .memory')`)
	w.do(`document.querySelectorAll('.levels .bottom')[20].dispatchEvent(new Event('pointerenter'))`)
	w.until(`/order\/\d+ to .*order\/\d+: table \d+, .* KiB/.test(
		document.querySelector('.detail').innerText)`)
	inside := await[bool](w, `[...document.querySelectorAll('.levels .block')].every((b) => {
		const [block, room] = [b, b.ownerSVGElement].map((e) => e.getBoundingClientRect());
		return block.left >= room.left && block.right <= room.right + 1 && block.width > 0;
	})`)
	if !inside {
		t.Error("a block is outside of its picture")
	}
	w.click("As a table")
	w.shows("First key", "orders/order/")
	w.shows("Committed", "Flushed", "Compacted", "/s")
}

func TestPage_worksWithTheKeyboard(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "box", "key", "value")
	put(t, db, "box", "other", "value")
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("box")
	w.until(`document.activeElement === document.querySelector('h1')`)
	w.run(chromedp.KeyEvent("/", withoutText))
	w.until(`document.activeElement.id === 'prefix'`)
	w.run(chromedp.KeyEvent("ke"))
	w.shows("1 key; these are all")
	focused := `document.activeElement.innerText`
	for range 5 { // the box for the order, the button to read again, the key
		w.run(chromedp.KeyEvent(kb.Tab))
		if await[string](w, focused) == "key" {
			break
		}
	}
	w.run(chromedp.KeyEvent(kb.Enter))
	w.until(`document.activeElement === document.querySelector('.side h2')`)
	w.shows("Download")
}

// withoutText leaves out what a key types. A browser does so if the page has handled the key, but
// not if the two are sent one after the other.
func withoutText(p *input.DispatchKeyEventParams) {
	if p.Type == input.DispatchKeyEventTypeChar {
		p.Type, p.Text, p.UnmodifiedText = input.DispatchKeyEventTypeKeyUp, "", ""
	}
}

func TestPage_readsBucketsAPageAtATime(t *testing.T) {
	t.Parallel()
	db := memory(t)
	ok(t, db.Update(func(tx *stoat.Tx) error {
		for i := range 300 {
			if _, err := tx.CreateBucket(fmt.Appendf(nil, "bucket-%03d", i)); err != nil {
				return err
			}
		}
		return nil
	}))
	s := serve(t, studio.New(db, nil))
	w := visit(t, s)
	w.shows("bucket-049")
	if n := await[int](w, `document.querySelectorAll('.tree li').length`); n != 50 {
		t.Errorf("the page reads %d buckets at once", n)
	}
	w.click("More …")
	w.shows("bucket-099")
	w.write("#buckets input", "bucket-27")
	w.until(`document.querySelector('.tree li .name').innerText === 'bucket-270'`)
	w.shows("bucket-299")
	w.click("bucket-299")
	w.shows("There are no keys in this bucket.")
}

func TestPage_tellsBucketsApartWhoseNamesAreClose(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "b", "key", "of b")
	for i := range 9 { // whatever is tried as a name just before b, these are after it
		put(t, db, fmt.Sprintf("a%s%d", strings.Repeat("\xff", 20), i), "key", "of another")
	}
	w := visit(t, serve(t, studio.New(db, nil)))
	w.click("b")
	w.shows("of b", "1 key; these are all")
	w.do(`(location.hash = '#view=keys&path=eA')`) // x
	w.shows("There is no such bucket any more.")
	w.takeTroubles() // the browser reports the status 404
}
