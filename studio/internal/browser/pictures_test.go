package browser

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stoatdb/stoat/studio"
)

var pictures = flag.String("pictures", "", "write the pictures of the docs to this `FOLDER`")

// pictureMost is the most that a picture may take, since they are part of the repository.
const pictureMost = 150 << 10

// look chooses colours and a size of the window, as a device would.
func (w *window) look(scheme string, width, height int64) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	ok(w.t, err)
	w.run(chromedp.EmulateViewport(width, height))
}

// picture returns what the window shows as a PNG, without what changes by itself.
func (w *window) picture() []byte {
	w.t.Helper()
	shot, err := chromedp.Run(w.ctx, chromedp.CaptureScreenshot())
	ok(w.t, err)
	img, err := png.Decode(bytes.NewReader(shot))
	ok(w.t, err)
	var small bytes.Buffer
	ok(w.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, reduce(img)))
	return small.Bytes()
}

// TestPictures_fit makes the pictures of the documentation: in each, the page must fit the window.
func TestPictures_fit(t *testing.T) {
	t.Parallel()
	folder := *pictures
	if folder == "" {
		folder = t.TempDir()
	}
	db := shop(t)
	sell(t, db)
	w := visit(t, serve(t, studio.New(db, nil)))
	for _, scene := range scenes() {
		w.look(scene.scheme, scene.width, scene.height)
		w.do(`(location.hash = ` + "`" + scene.hash + "`)")
		scene.prepare(w)
		w.fits(scene.name)
		p := w.picture()
		if len(p) > pictureMost {
			t.Errorf("the picture %s has %d bytes", scene.name, len(p))
		}
		ok(t, os.WriteFile(filepath.Join(folder, "studio-"+scene.name+".png"), p, 0o644))
	}
}
