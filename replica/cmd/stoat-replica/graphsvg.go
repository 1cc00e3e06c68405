package main

import (
	"bufio"
	"fmt"
	"html"
	"io"

	"github.com/stoatdb/stoat/internal/commands/columns"
)

// Measures of a picture, in pixels.
const (
	svgLane   = 36 // between lanes
	svgStep   = 26 // between entries
	svgLeft   = 130
	svgTop    = 64
	svgRight  = 30
	svgBottom = 24
	svgRadius = 6
)

// svgStyle is how a picture looks, on a light and on a dark ground.
const svgStyle = `<style>
svg { background: #ffffff; font: 12px system-ui, sans-serif; fill: #1f2328; }
.lane { stroke: #d0d7de; stroke-width: 2; }
.seen { stroke: #8250df; stroke-width: 1.3; fill: none; marker-end: url(#tip); }
.tip { fill: #8250df; }
.data { fill: #0969da; } .genesis { fill: #1a7f37; } .context { fill: #8c959f; }
.control { fill: #bc4c00; }
.title { font-size: 15px; font-weight: 600; } .note { fill: #59636e; }
@media (prefers-color-scheme: dark) {
svg { background: #0d1117; fill: #e6edf3; } .lane { stroke: #30363d; }
.seen { stroke: #b392f0; } .tip { fill: #b392f0; } .data { fill: #58a6ff; }
.genesis { fill: #3fb950; } .context { fill: #6e7681; } .control { fill: #f0883e; }
.note { fill: #9198a1; } }
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"
 orient="auto-start-reverse"><path class="tip" d="M0,0 L8,4 L0,8 z"/></marker></defs>
`

// svg draws the graph as a picture: time goes to the right, each log is a lane.
func (g *graph) svg(out io.Writer, name string) error {
	w := bufio.NewWriter(out)
	width := max(520, svgLeft+svgRight+svgStep*max(1, len(g.entries)))
	height := svgTop + svgBottom + svgLane*len(g.lanes)
	fmt.Fprintf(w, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "+
		"viewBox=\"0 0 %d %d\">\n%s", width, height, width, height, svgStyle)
	fmt.Fprintf(w, "<text class=\"title\" x=\"16\" y=\"26\">%s</text>\n",
		html.EscapeString(fmt.Sprintf("space %s: %s of %d logs", quote(name),
			entriesText(int64(len(g.entries))), len(g.lanes))))
	x := 16
	for _, kind := range []struct{ class, text string }{
		{"genesis", "a log begins"}, {"data", "changes"}, {"context", "only what was seen"},
		{"control", "rights, checkpoints"},
	} {
		fmt.Fprintf(w, "<circle class=\"%s\" cx=\"%d\" cy=\"42\" r=\"4\"/>"+
			"<text class=\"note\" x=\"%d\" y=\"46\">%s</text>\n", kind.class, x+4, x+12, kind.text)
		x += 28 + 7*len(kind.text)
	}
	g.svgLanes(w, width)
	g.svgSeen(w)
	for i, e := range g.entries {
		x, y := g.place(i)
		fmt.Fprintf(w, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"%d\"><title>%s</title></circle>\n",
			e.Kind, x, y, svgRadius, html.EscapeString(fmt.Sprintf("%s\n%s, device %s\n%s",
				shortEntry(e.EntryID), clock(e.Time), short(e.Device), columns.Shorten(entryText(e), 300))))
	}
	fmt.Fprintln(w, "</svg>")
	return w.Flush()
}

// place returns where an entry is.
func (g *graph) place(row int) (x, y int) {
	x = svgLeft + svgStep*(len(g.entries)-1-row) + svgStep/2
	return x, svgTop + svgLane*g.lane[g.entries[row].Log] + svgLane/2
}

// svgLanes draws the lanes with their logs.
func (g *graph) svgLanes(w io.Writer, width int) {
	for lane, log := range g.lanes {
		y := svgTop + svgLane*lane + svgLane/2
		oldest := g.oldest[lane]
		from, _ := g.place(oldest)
		if g.entries[oldest].Seq > 0 {
			from = svgLeft // it began before what is shown
		}
		fmt.Fprintf(w, "<line class=\"lane\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", from, y,
			width-svgRight/2, y)
		fmt.Fprintf(w, "<text x=\"16\" y=\"%d\"><title>log %s, device %s</title>%s</text>\n", y+4,
			log, g.entries[oldest].Device, short(log))
	}
}

// svgSeen draws an arrow from each entry to the one that was the first to see it.
func (g *graph) svgSeen(w io.Writer) {
	for i, e := range g.entries {
		x2, y2 := g.place(i)
		for _, seen := range e.Seen {
			row, known := g.rows[seen]
			if !known {
				continue
			}
			x1, y1 := g.place(row)
			bend := svgStep / 2
			end := x2 - svgRadius - 1
			fmt.Fprintf(w, "<path class=\"seen\" d=\"M%d,%d C%d,%d %d,%d %d,%d\"/>\n", x1, y1, x1+bend, y1,
				end-bend, y2, end, y2)
		}
	}
}
