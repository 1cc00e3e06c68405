package page

import (
	"fmt"
	"math"

	"github.com/stoatdb/stoat/bench/report"
)

// versus compares us with the best peer in each line.
type versus struct {
	Summary string
	Widest  string // the ratio at the ends of the bars' axis
	Long    bool   // too long to show at once
	Groups  []versusGroup
}

// versusGroup is the comparisons of a row.
type versusGroup struct {
	Title string // empty if the only line names the row
	Lines []comparison
}

// comparison is one line. Its bar starts in the middle and extends to the left where we are better.
type comparison struct {
	Label  string
	Ratio  string
	Peer   string
	Better bool
	Close  bool // neither better nor worse
	Start  string
	Width  string
}

// The bars' axis reaches at least to the first ratio, bars are cut off at the second, and lines
// with a ratio up to the third count as equal.
const (
	narrowest = 2
	widest    = 1000
	equal     = 1.05
)

// longVersus is the number of lines from which the comparison is folded.
const longVersus = 48

func (v *view) versus(lines []report.Line) versus {
	main, ok := v.Main()
	if !ok {
		return versus{}
	}
	reach := math.Log(narrowest)
	var better, same, worse int
	for _, l := range lines {
		ratio, ok := v.Ratio(main, l)
		if !ok {
			continue
		}
		reach = max(reach, logRatio(ratio))
		reach = max(reach, -logRatio(ratio))
		switch {
		case ratio > equal:
			worse++
		case ratio < 1/equal:
			better++
		default:
			same++
		}
	}
	total := better + same + worse
	if total == 0 {
		return versus{}
	}
	all := versus{
		Summary: fmt.Sprintf("Of %d lines with a peer, %s is ahead of the best one in %d, "+
			"within 5\u202f%% of it in %d, and behind in %d.", total, main, better, same, worse),
		Widest: report.Digits(math.Exp(reach)),
		Long:   total > longVersus,
	}
	for _, g := range groups(lines) {
		if found := v.compare(main, g, reach); len(found.Lines) > 0 {
			all.Groups = append(all.Groups, found)
		}
	}
	return all
}

// logRatio returns the logarithm of a ratio, limited to what a bar can show.
func logRatio(ratio float64) float64 {
	return min(max(math.Log(ratio), -math.Log(widest)), math.Log(widest))
}

// compare returns the comparisons of one row.
func (v *view) compare(main string, g group, reach float64) versusGroup {
	found := versusGroup{Title: g.title()}
	for _, l := range g.lines {
		ratio, ok := v.Ratio(main, l)
		if !ok {
			continue
		}
		length := logRatio(ratio) / reach * 50
		found.Lines = append(found.Lines, comparison{
			Label:  l.State(),
			Ratio:  report.Digits(ratio),
			Peer:   v.Best(l),
			Better: ratio < 1/equal,
			Close:  ratio >= 1/equal && ratio <= equal,
			Start:  percent(min(50, 50+length)),
			Width:  percent(math.Abs(length)),
		})
	}
	if g.alone() && len(found.Lines) > 0 {
		found.Lines[0].Label, found.Title = found.Title, ""
	}
	return found
}

// percent returns a length in an SVG drawing.
func percent(v float64) string { return fmt.Sprintf("%.2f%%", v) }
