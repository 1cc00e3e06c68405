package browser

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var mustBrowse = flag.Bool("browser", false, "fail instead of skipping without Chromium")

// patience is how long the page may take for a step. A step that works takes a fraction of it.
const patience = 30 * time.Second

// chromium returns the path of the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if *mustBrowse {
		t.Fatal("no chromium, chromium-browser or google-chrome in PATH: install one")
	}
	t.Skip("no chromium, chromium-browser or google-chrome in PATH")
	return ""
}

func TestBrowser_isThere(t *testing.T) { chromium(t) }

// window is a tab of the browser. It remembers what a page must not do.
type window struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	troubles []string
}

// openWindow starts a browser that ends with the test. The test fails if a page reports an error or
// opens a dialog, unless it takes the troubles itself.
func openWindow(t *testing.T) *window {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("no-proxy-server", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WindowSize(1280, 900),
		chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(patience))
	allocated, endBrowser := chromedp.NewExecAllocator(context.Background(), options...)
	w := &window{t: t}
	ctx, closeTab := chromedp.NewContext(allocated, chromedp.WithListener(w.listen))
	w.ctx = ctx
	t.Cleanup(func() {
		closeTab()
		endBrowser()
		for _, trouble := range w.takeTroubles() {
			t.Errorf("the page: %s", trouble)
		}
	})
	ok(t, chromedp.Do(ctx)) // starts the browser, which lives as long as this context
	return w
}

// listen notes what a page must not do.
func (w *window) listen(event any) {
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		w.note("opens a dialog: " + e.Message)
		go func() { // the page waits for an answer, which the listener must not give
			close := page.HandleJavaScriptDialogParams{Accept: true}
			_, _ = chromedp.Call(w.ctx, page.HandleJavaScriptDialog, close)
		}()
	case *runtime.EventExceptionThrown:
		w.note("throws " + e.ExceptionDetails.Text + ": " + e.ExceptionDetails.Exception.Description)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			w.note(fmt.Sprintf("prints %s: %s", e.Type, e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			w.note(fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	}
}

func (w *window) note(trouble string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.troubles = append(w.troubles, trouble)
}

// takeTroubles returns what the page did that it must not.
func (w *window) takeTroubles() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.troubles
	w.troubles = nil
	return all
}

// run does steps, which must succeed.
func (w *window) run(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := w.try(actions...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *window) try(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// await returns the value of an expression of JavaScript, a promise or not.
func await[T any](w *window, expression string) T {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		w.t.Fatalf("%s: %v\nthe page shows: %s", expression, err, w.text())
	}
	return value
}

// until waits until an expression of JavaScript is true.
func (w *window) until(expression string) {
	w.t.Helper()
	const wait = `new Promise((resolve) => {
		const end = Date.now() + %d;
		const look = () => {
			let found = false;
			try { found = Boolean(%s); } catch {}
			found || Date.now() > end ? resolve(found) : setTimeout(look, 20);
		};
		look();
	})`
	if !await[bool](w, fmt.Sprintf(wait, (patience-5*time.Second).Milliseconds(), expression)) {
		w.t.Fatalf("never true: %s\nthe page shows: %s", expression, w.text())
	}
}

// do evaluates an expression of JavaScript.
func (w *window) do(expression string) {
	w.t.Helper()
	await[bool](w, "Boolean(void "+expression+")")
}

// text returns what the page shows.
func (w *window) text() string {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ''`))
	if err != nil {
		return err.Error()
	}
	return text
}

// shows waits until the page shows texts.
func (w *window) shows(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.until(fmt.Sprintf(`document.body.innerText.includes(%q)`, text))
	}
}

// click clicks what shows a text, or has it as its label: a link or a button.
func (w *window) click(text string) {
	w.t.Helper()
	find := fmt.Sprintf(`((all) => {
		const label = (e) => (e.getAttribute('aria-label') ?? e.innerText).trim();
		return all.find((e) => label(e) === %[1]q) ?? all.find((e) => label(e).startsWith(%[1]q));
	})([...document.querySelectorAll('a, button, summary')].filter((e) =>
		e.checkVisibility() && !e.disabled))`, text)
	w.until(find)
	w.do(find + ".click()")
}

// write puts a text into the field that a selector finds, as if it was typed.
func (w *window) write(selector, text string) {
	w.t.Helper()
	w.until(fmt.Sprintf("document.querySelector(%q)", selector))
	w.do(fmt.Sprintf(`((e) => {
		e.focus();
		e.value = %q;
		e.dispatchEvent(new Event('input', {bubbles: true}));
	})(document.querySelector(%q))`, text, selector))
}

// fits fails the test if the page, or what shows a view, is wider than there is room.
func (w *window) fits(what string) {
	w.t.Helper()
	wide := await[[]string](w, `[
		'html', 'body', '#top', '#buckets', 'main', '.side',
	].filter((name) => {
		const e = document.querySelector(name);
		return e?.checkVisibility() && e.scrollWidth > e.clientWidth + 1;
	})`)
	if len(wide) > 0 {
		w.t.Errorf("%s: wider than its room: %s", what, strings.Join(wide, ", "))
	}
}
