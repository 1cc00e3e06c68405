package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// chart is a drawing of lines, and the numbers in it.
type chart struct {
	Title         string
	Ours          bool
	Axis          string
	Width, Height int
	Left, Right   int // of the plot
	Top, Bottom   int
	TickX, TickY  int // positions of the ticks' labels
	Xs, Ys        []mark
	Lines         []line
	Numbers       numbers
}

// line is a line of a chart. Its colour, dashes and marks tell it from the others.
type line struct {
	Name, Full string
	Class      string
	Path       string
	Marks      string
	Key        string // the stroke before its name
	KeyMark    string
	KeyX       int
	KeyY       string
}

// numbers is the table below a chart.
type numbers struct {
	Heads []head
	Lines []numberLine
}

// numberLine is the values at one position on the axis.
type numberLine struct {
	Label string
	Cells []string
}

// scales says which scales are logarithmic.
type scales struct{ x, y bool }

// The sizes of a chart, in units of about a pixel.
const (
	chartWidth = 380
	plotLeft   = 52
	plotRight  = 268
	plotTop    = 8
	plotHeight = 188
	keyHeight  = 14 // height of a name beside the plot
	keyWidth   = 16
	maxName    = 14 // letters of a name beside the plot
	maxMarks   = 16 // a line with more points has
	fewMarks   = 5  // about as many marks as this
	inset      = 6  // from the frame to the ends of an axis
)

// newChart returns the chart of a facet, with the scales of all values of its group.
func newChart(row suite.Row, f facet, xs, ys []float64, log scales) chart {
	height := max(plotHeight, keyHeight*len(f.traces))
	bottom := plotTop + height
	x := newAxis(xs, log.x, plotLeft, plotRight)
	y := newAxis(ys, log.y, float64(bottom), plotTop+inset)
	y.binary = row.Unit == suite.Bytes
	if y.log { // otherwise it starts at zero, on the frame
		y.from -= inset
	}
	c := chart{
		Title: f.title, Ours: f.ours, Axis: row.Axis,
		Width: chartWidth, Height: bottom + 34,
		Left: plotLeft, Right: plotRight, Top: plotTop, Bottom: bottom,
		TickX: bottom + 14, TickY: plotLeft - 6,
		Xs:      x.marks(countTick),
		Ys:      y.marks(func(v float64) string { return tick(v, row.Unit) }),
		Numbers: newNumbers(row, f),
	}
	ends := make([]float64, len(f.traces))
	for i, t := range f.traces {
		c.Lines = append(c.Lines, newLine(t, i, x, y))
		ends[i] = y.at(t.ys[len(t.ys)-1])
	}
	for i, at := range spreadOut(ends, plotTop+keyHeight/2, float64(bottom)-keyHeight/2) {
		c.Lines[i].key(i, at)
	}
	slices.Reverse(c.Lines) // later lines are drawn over earlier ones, and ours comes first
	return c
}

func newLine(t trace, index int, x, y axis) line {
	l := line{Name: shorten(t.name), Full: t.name, Class: class(t.ours, index)}
	var path, marks strings.Builder
	step := 1
	if len(t.xs) > maxMarks {
		step = len(t.xs) / fewMarks
	}
	for i := range t.xs {
		px, py := x.at(t.xs[i]), y.at(t.ys[i])
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], px, py)
		if i%step == 0 {
			marks.WriteString(shape(index, px, py))
		}
	}
	l.Path, l.Marks = path.String(), marks.String()
	return l
}

// key positions the line's name.
func (l *line) key(index int, at float64) {
	const from = plotRight + 8
	l.Key = fmt.Sprintf("M%d %.1fh%d", from, at, keyWidth)
	l.KeyMark = shape(index, from+keyWidth/2, at)
	l.KeyX, l.KeyY = from+keyWidth+4, place(at+3.5)
}

// class returns the classes that give a line its colour and dashes. The first 24 lines all differ.
func class(ours bool, index int) string {
	const colours, dashes = 6, 4
	if ours && index == 0 {
		return "ours"
	}
	return fmt.Sprintf("c%d d%d", index%colours, (index+index/colours)%dashes)
}

// shape returns the path of a line's mark.
func shape(index int, x, y float64) string {
	at := fmt.Sprintf("M%.1f %.1f", x, y)
	return at + []string{
		"m-2.8 0a2.8 2.8 0 1 0 5.6 0a2.8 2.8 0 1 0-5.6 0z", // circle
		"m-2.5-2.5h5v5h-5z",                 // square
		"m0-3.4l3.2 5.8h-6.4z",              // triangle
		"m0-3.6l3.4 3.6l-3.4 3.6l-3.4-3.6z", // diamond
		"m0 3.4l3.2-5.8h-6.4z",              // inverted triangle
	}[index%5]
}

// shorten cuts a name that does not fit beside the plot.
func shorten(name string) string {
	letters := []rune(name)
	if len(letters) <= maxName {
		return name
	}
	return string(letters[:maxName-1]) + "…"
}

// spreadOut moves positions apart so that the names at them do not overlap. It keeps their order
// and stays between low and high.
func spreadOut(places []float64, low, high float64) []float64 {
	order := make([]int, len(places))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(places[a], places[b])
	})
	moved := slices.Clone(places)
	next := low
	for _, i := range order {
		moved[i] = max(moved[i], next)
		next = moved[i] + keyHeight
	}
	next = high
	for _, i := range slices.Backward(order) {
		moved[i] = min(moved[i], next)
		next = moved[i] - keyHeight
	}
	return moved
}

// newNumbers returns the values of all lines of a chart.
func newNumbers(row suite.Row, f facet) numbers {
	var n numbers
	var xs []float64
	for _, t := range f.traces {
		n.Heads = append(n.Heads, head{t.name, t.ours})
		xs = append(xs, t.xs...)
	}
	slices.Sort(xs)
	for _, x := range slices.Compact(xs) {
		l := numberLine{Label: position(x)}
		for _, t := range f.traces {
			text := "–"
			if i, ok := slices.BinarySearch(t.xs, x); ok {
				text = show(t.ys[i], row.Unit)
			}
			l.Cells = append(l.Cells, text)
		}
		n.Lines = append(n.Lines, l)
	}
	return n
}

// better says which end of a unit's scale is better.
func better(unit suite.Unit) string {
	if unit == suite.PerSecond {
		return "more is better"
	}
	return "less is better"
}

// position returns a position on an axis as text.
func position(x float64) string {
	if x >= 1000 {
		return report.Count(math.Round(x))
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
