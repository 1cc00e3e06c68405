package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browser returns the path of a browser that can make pictures, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a browser some seconds")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no chromium, chromium-browser or google-chrome in PATH")
	return ""
}

// picture returns what the browser shows of a file.
func picture(t *testing.T, browser, file string, width, height int, dark bool) image.Image {
	t.Helper()
	dir := t.TempDir()
	shot := filepath.Join(dir, "shot.png")
	arguments := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
		"--user-data-dir=" + filepath.Join(dir, "profile"),
		fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot=" + shot,
	}
	if dark {
		arguments = append(arguments, "--blink-settings=preferredColorScheme=0")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	arguments = append(arguments, "file://"+file)
	out, err := exec.CommandContext(ctx, browser, arguments...).CombinedOutput()
	b, readErr := os.ReadFile(shot)
	if err = errors.Join(err, readErr); err != nil {
		t.Fatalf("the browser at %s does not work: %v\n%s", browser, err, out)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// overflow is a page that tells how much wider than a frame of 320 points the page in it is, in a
// browser whose scroll bars may take some of that.
const overflow = `<!DOCTYPE html>
<iframe id="page" src="report.html" width="320" height="900"></iframe>
<p id="answer"></p><script>
page.onload = () => {
	const root = page.contentDocument.documentElement;
	answer.textContent = "excess " + (root.scrollWidth - root.clientWidth) + ".";
};
</script>`

func TestPage_needsNoScrollingToTheSideOnAPhone(t *testing.T) {
	path := browser(t)
	dir := t.TempDir()
	var page bytes.Buffer
	if err := Write(&page, sampleReport(), findSample); err != nil {
		t.Fatal(err)
	}
	open := bytes.ReplaceAll(page.Bytes(), []byte(` open="">`), []byte(">"))
	open = bytes.ReplaceAll(open, []byte("<details"), []byte(`<details open=""`))
	files := map[string][]byte{"report.html": open, "frame.html": []byte(overflow)}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu",
		"--no-first-run", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--allow-file-access-from-files", "--virtual-time-budget=5000", "--dump-dom",
		"file://"+filepath.Join(dir, "frame.html")).Output()
	_, answer, ok := bytes.Cut(out, []byte(`<p id="answer">`))
	if err != nil || !ok || !bytes.HasPrefix(answer, []byte("excess ")) {
		t.Fatalf("the browser at %s does not answer: %v, %.200s", path, err, out)
	}
	if !bytes.HasPrefix(answer, []byte("excess 0.")) {
		t.Errorf("the page is wider than the phone: %.20s", answer)
	}
}

// look returns the brightness of the background, from 0 to 1, and the share of the points that are
// not background, in each of some bands from top to bottom.
func look(img image.Image, bands int) (background float64, shares []float64) {
	b := img.Bounds()
	bright := func(x, y int) float64 {
		r, g, bl, _ := img.At(x, y).RGBA()
		return float64(r+g+bl) / (3 * 0xffff)
	}
	background = bright(b.Min.X+2, b.Min.Y+2)
	for band := range bands {
		var different, all float64
		for y := b.Min.Y + band*b.Dy()/bands; y < b.Min.Y+(band+1)*b.Dy()/bands; y += 2 {
			for x := b.Min.X; x < b.Max.X; x += 2 {
				all++
				if d := bright(x, y) - background; d > 0.2 || d < -0.2 {
					different++
				}
			}
		}
		shares = append(shares, different/all)
	}
	return background, shares
}

func TestPage_showsInABrowser(t *testing.T) {
	path := browser(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	var page bytes.Buffer
	if err := Write(&page, sampleReport(), findSample); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		width, height int
		dark          bool
	}{{1280, 2400, false}, {1280, 2400, true}, {390, 2400, false}, {390, 2400, true}} {
		name := fmt.Sprintf("%d wide, dark %t", c.width, c.dark)
		img := picture(t, path, file, c.width, c.height, c.dark)
		if size := img.Bounds().Size(); size != image.Pt(c.width, c.height) {
			t.Errorf("%s: the picture is %v", name, size)
		}
		background, shares := look(img, 4)
		if c.dark != (background < 0.5) {
			t.Errorf("%s: the background has brightness %.2f", name, background)
		}
		for band, share := range shares {
			if share < 0.005 || share > 0.6 {
				t.Errorf("%s: %.1f %% of band %d is not background", name, 100*share, band)
			}
		}
	}
}
