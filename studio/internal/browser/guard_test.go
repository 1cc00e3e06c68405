package browser

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stoatdb/stoat/studio"
)

func TestPage_isRefusedWithoutTheToken(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "secret", "key", "value")
	s := serve(t, studio.New(db, nil))
	w := openWindow(t)
	w.run(chromedp.Navigate(s.address()))
	w.shows("The session has ended")
	used := s.invitation()
	w.run(chromedp.Navigate("about:blank"), chromedp.Navigate(used))
	w.shows("Overview", "secret")
	if hash := await[string](w, `location.href`); hash != s.address() {
		t.Errorf("the address still has the token: %s", hash)
	}
	w.run(chromedp.Navigate("about:blank"), chromedp.Navigate(used)) // there is a session already
	w.click("secret")
	w.shows("1 key")
	w.takeTroubles() // the browser reports the requests that were refused

	other := openWindow(t)
	other.run(chromedp.Navigate(used))
	other.shows("The session has ended")
	if await[bool](other, `document.body.innerText.includes('secret')`) {
		t.Error("a token works twice")
	}
	other.takeTroubles()
}

// evil is a page of another site, which tries to use the studio of who visits it.
const evil = `<!doctype html><title>evil</title><body><script>
const tries = [
	fetch(%[1]q + 'api/database', {credentials: 'include'}).then((a) => a.text()),
	fetch(%[1]q + 'api/buckets', {credentials: 'include', mode: 'no-cors'}).then((a) => a.text()),
	fetch(%[1]q + 'api/put', {credentials: 'include', mode: 'no-cors', method: 'POST',
		body: '{"path":"","key":"AA==","value":""}'}).then((a) => a.text()),
	new Promise((resolve, reject) => {
		const frame = document.body.appendChild(document.createElement('iframe'));
		frame.onload = () => {
			try { resolve(frame.contentDocument.body.innerText); } catch { reject(); }
		};
		frame.src = %[1]q;
	}),
];
window.read = Promise.allSettled(tries).then((all) => all.map((a) => a.value ?? '').join(''));
</script>`

func TestPage_isRefusedFromAnotherOrigin(t *testing.T) {
	t.Parallel()
	db := memory(t)
	s := serve(t, studio.New(db, &studio.Options{Write: true}))
	page := fmt.Sprintf(evil, s.address())
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(other.Close)
	w := visit(t, s)
	w.run(chromedp.Navigate(other.URL))
	if read := await[string](w, `window.read`); read != "" {
		t.Errorf("another site reads %q", read)
	}
	w.takeTroubles() // the browser reports what it refused
	for _, request := range []string{"GET /api/buckets", "POST /api/put"} {
		if got := s.answers(request); len(got) == 0 || got[len(got)-1] != http.StatusForbidden {
			t.Errorf("%s from another site has the statuses %v", request, got)
		}
	}
}

func TestPage_writesOnlyIfItMay(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "box", "key", "value")
	s := serve(t, studio.New(db, nil))
	w := visit(t, s)
	w.click("box")
	w.click("key")
	w.shows("Download")
	labels := await[[]string](w, `[...document.querySelectorAll('button')].map((b) => b.innerText)`)
	for _, label := range []string{"New key …", "Edit …", "Delete …"} {
		if slices.Contains(labels, label) {
			t.Errorf("a page that must not write has a button %q", label)
		}
	}
	status := await[int](w, `fetch('api/put', {method: 'POST',
		headers: {'Content-Type': 'application/json'},
		body: '{"path":"Ym94","key":"eA==","value":"eA=="}'}).then((a) => a.status)`)
	if status != http.StatusForbidden {
		t.Errorf("a write has status %d", status)
	}
	w.takeTroubles()
}

func TestPage_putsAndDeletesKeys(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "box", "key", "value")
	w := visit(t, serve(t, studio.New(db, &studio.Options{Write: true})))
	w.shows("writable")
	w.click("box")
	w.click("New key")
	w.write("#edit-key", `new\x00key`)
	w.write("#edit-value", "new value")
	w.click("Save")
	w.shows("2 keys; these are all", "new value")
	w.click("Edit")
	w.write("#edit-value", "other value")
	w.click("Save")
	w.until(`document.querySelector('.value')?.innerText === 'other value'`)
	w.click("Delete")
	w.shows("Delete this key?", "cannot be undone")
	w.click("Cancel")
	w.until(`!document.querySelector('dialog')`)
	w.shows("2 keys; these are all")
	w.click("Delete")
	w.do(`document.querySelector('dialog .danger').click()`)
	w.shows("1 key; these are all")
}

func TestPage_saysThatTheConnectionIsLost(t *testing.T) {
	t.Parallel()
	db := memory(t)
	put(t, db, "box", "key", "value")
	s := serve(t, studio.New(db, nil))
	w := visit(t, s)
	s.server.CloseClientConnections()
	ok(t, s.server.Listener.Close())
	w.shows("no connection", "No connection since")
	w.takeTroubles()
}
