package browser

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"maps"
	"slices"
)

// scene is a picture of the documentation.
type scene struct {
	name          string
	scheme        string
	width, height int64
	hash          string
	prepare       func(w *window) // waits until all is there
}

func scenes() []scene {
	orders, customers := "view=keys&path=b3JkZXJz", "view=records&path=Y3VzdG9tZXJz"
	const query = "age+%3E%3D+70+and+city+%3D+%22Ulm%22+order+by+age+desc"
	return []scene{
		{"overview", "light", 1280, 860, "view=overview", levelsDrawn},
		{"overview-dark", "dark", 1280, 860, "view=overview", levelsDrawn},
		{"keys", "light", 1280, 760, orders + "&key=b3JkZXIvMDAwMDAy", valueShown},
		{"records", "light", 1280, 860, customers + "&q=" + query, shows("Plan")},
		{"feed", "light", 1280, 760, "view=feed&path=ZXZlbnRz", shows("invoices")},
		{"changes", "light", 1280, 600, "view=changes&path=b3JkZXJz", shows("put")},
		{"phone", "light", 390, 780, "view=overview", levelsDrawn},
		{"phone-dark", "dark", 390, 780, orders, shows("order/000009")},
	}
}

func shows(text string) func(w *window) { return func(w *window) { w.shows(text) } }

func valueShown(w *window) { w.until(`document.querySelector('.side .value')`) }

func levelsDrawn(w *window) {
	w.until(`document.querySelector('.levels svg') &&
		document.querySelector('.rate .line')?.getAttribute('d').split('L').length > 20`)
}

// reduce returns a picture with a palette of its most frequent colours: one byte for each point is
// compressed better than four.
func reduce(img image.Image) image.Image {
	const most = 256
	b := img.Bounds()
	counts := map[color.RGBA]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	small := image.NewPaletted(b, palette(counts, most))
	draw.Draw(small, b, img, b.Min, draw.Src)
	return small
}

// palette returns at most so many colours, the most frequent ones.
func palette(counts map[color.RGBA]int, most int) color.Palette {
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(packed(a), packed(b)))
	})
	var p color.Palette
	for _, c := range colours[:min(len(colours), most)] {
		p = append(p, c)
	}
	return p
}

// packed returns a number that orders colours.
func packed(c color.RGBA) uint32 { return uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B) }
