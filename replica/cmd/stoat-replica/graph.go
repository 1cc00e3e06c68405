package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/replica"
)

// graph is entries of a space, and what they have seen of each other. Each log has a lane.
type graph struct {
	entries []*replica.Entry // the newest first
	lanes   []replica.LogID
	lane    map[replica.LogID]int
	oldest  []int // the row of the oldest entry of each lane
	rows    map[replica.EntryID]int
}

func newGraph(entries []*replica.Entry) *graph {
	g := &graph{entries: entries, lane: map[replica.LogID]int{}, rows: map[replica.EntryID]int{}}
	for i, e := range entries {
		g.rows[e.EntryID] = i
		if _, known := g.lane[e.Log]; !known {
			g.lane[e.Log] = len(g.lanes)
			g.lanes = append(g.lanes, e.Log)
			g.oldest = append(g.oldest, i)
		}
		g.oldest[g.lane[e.Log]] = i
	}
	return g
}

func graphCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	limit := flags.Int("limit", 50, "show at most the newest `N` entries; 0: all")
	svg := flags.Bool("svg", false, "draw a picture in SVG")
	return &command{
		Name: "graph", Arguments: "DB", Summary: "draw what happened before what: logs and contexts",
		Details: `
Each log is a lane. A line between lanes says that an entry was the first of its
log to have seen the other log up to there; entries that no path connects were
written without knowing of each other. Text has the newest entries at the top,
and ● for an entry, ├ or ┤ where it has seen something. A picture goes from left
to right: stoat replica graph -svg DB >space.svg.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			if *limit < 0 {
				return cmdline.Usagef("-limit %d: want 0 or more", *limit)
			}
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				heads, err := space.Heads(tx)
				if err != nil {
					return err
				}
				entries, err := newest(space, tx, heads, *limit)
				if err != nil {
					return err
				}
				g := newGraph(entries)
				if *svg {
					return g.svg(s.out, space.Name())
				}
				return g.text(s)
			})
		},
	}
}

// lanesMax is the most lanes that fit into text.
const lanesMax = 16

// text draws the graph with a line for each entry.
func (g *graph) text(s *stdio) error {
	if len(g.lanes) > lanesMax {
		return fmt.Errorf("%d logs do not fit into the width of text: use -svg, or a smaller -limit",
			len(g.lanes))
	}
	t := &columns.Table{Out: s.out, Widths: []int{2*len(g.lanes) - 1, shortDigits + 6}}
	begun := make([]bool, len(g.lanes))
	for i, e := range g.entries {
		begun[g.lane[e.Log]] = true
		var seen []int
		for _, id := range e.Seen {
			if lane, known := g.lane[id.Log]; known {
				seen = append(seen, lane)
				begun[lane] = true
			}
		}
		line := g.lanesText(i, g.lane[e.Log], seen, begun)
		if err := t.Row(line, shortEntry(e.EntryID), entryText(e)); err != nil {
			return err
		}
	}
	return nil
}

// lanesText draws the lanes beside an entry, with lines to those that it has seen.
func (g *graph) lanesText(row, own int, seen []int, begun []bool) string {
	first, last := own, own
	if len(seen) > 0 {
		first, last = min(own, slices.Min(seen)), max(own, slices.Max(seen))
	}
	var b strings.Builder
	for lane := range g.lanes {
		within := lane > first && lane < last
		switch {
		case lane == own:
			b.WriteString("●")
		case slices.Contains(seen, lane) && lane == first:
			b.WriteString("├")
		case slices.Contains(seen, lane) && lane == last:
			b.WriteString("┤")
		case slices.Contains(seen, lane):
			b.WriteString("┿")
		case begun[lane] && row <= g.oldest[lane] && within:
			b.WriteString("┼")
		case begun[lane] && row <= g.oldest[lane]:
			b.WriteString("│")
		case within:
			b.WriteString("─")
		default:
			b.WriteString(" ")
		}
		if lane+1 < len(g.lanes) {
			if lane >= first && lane < last {
				b.WriteString("─")
			} else {
				b.WriteString(" ")
			}
		}
	}
	return b.String()
}
