package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/report"
)

// The table is 80 columns wide.
const (
	engineWidth = 16
	labelWidth  = 44 // the engine, and the row
	valueWidth  = 8
	changeWidth = 7
)

// Text writes what has changed and how many rows have not; with all, those rows too.
func (c *Comparison) Text(w io.Writer, all bool) {
	c.header(w)
	total := len(c.Pairs)
	c.section(w, Worse, "Worse (slower, larger) in %d of %d rows", total)
	c.section(w, Better, "Better (faster, smaller) in %d of %d rows", total)
	same := c.with(Same)
	judged := c.judged()
	switch {
	case len(same) > 0 && all:
		c.section(w, Same, "No change in %d of %d rows", total)
	case judged > 0 && len(same) == judged:
		fmt.Fprintf(w, "\nNo change in any of %d rows.\n", judged)
	case len(same) > 0:
		fmt.Fprintf(w, "\nNo change in %d of %d rows.\n", len(same), total)
	}
	c.unknown(w, all)
	keys(w, "Only in the old report", c.OnlyOld, all)
	keys(w, "Only in the new report", c.OnlyNew, all)
	if total == 0 {
		fmt.Fprintln(w, "\nThe reports have no comparable row in common.")
	}
	if judged > 0 {
		c.rule(w)
	}
}

func (c *Comparison) header(w io.Writer) {
	for _, side := range []struct {
		name string
		Side
	}{{"old", c.Old}, {"new", c.New}} {
		m := side.Machine
		text := fmt.Sprintf("%s  %s, %d CPUs, %s, %s", side.Started.Format("2006-01-02 15:04"),
			m.CPU, m.CPUs, m.System, m.Go)
		report.Paragraph(w, side.name+"  "+text)
	}
	for _, note := range c.Notes {
		report.Paragraph(w, note)
	}
}

// rule explains what counts as a change.
func (c *Comparison) rule(w io.Writer) {
	text := fmt.Sprintf("Medians of the rounds' medians. A row has changed if the Mann-Whitney U "+
		"test says so (p < %v) and by more than %.3g %%.", Alpha, 100*c.Least)
	if c.Margin > c.Least {
		text += fmt.Sprintf(" The change must also exceed %.1f %%: the machine alone changed "+
			"the engines that are the same in both reports by up to that much.", 100*c.Margin)
	}
	fmt.Fprintln(w)
	report.Paragraph(w, text)
}

// with returns the pairs with a verdict, the largest change of each result first.
func (c *Comparison) with(v Verdict) []Pair {
	var found []Pair
	for _, p := range c.Pairs {
		if p.Verdict == v {
			found = append(found, p)
		}
	}
	return found
}

func (c *Comparison) section(w io.Writer, v Verdict, title string, total int) {
	found := c.with(v)
	if len(found) == 0 {
		return
	}
	fmt.Fprintf(w, "\n"+title+"\n", len(found), total)
	if v != Same {
		sortByEffect(found)
	}
	table(w, found)
}

// unknown writes the rows with too few rounds: without all, only those that differ in the rounds
// there are.
func (c *Comparison) unknown(w io.Writer, all bool) {
	found := c.with(Unknown)
	if len(found) == 0 {
		return
	}
	few := math.MaxInt
	for _, p := range found {
		few = min(few, p.OldRounds, p.NewRounds)
	}
	rounds := "1 round"
	if few > 1 {
		rounds = fmt.Sprintf("%d rounds", few)
	}
	fmt.Fprintln(w)
	report.Paragraph(w, fmt.Sprintf("%s: cannot tell in %d of %d rows; measure with -rounds 5. One "+
		"process says nothing about the next.", rounds, len(found), len(c.Pairs)))
	if !all {
		found = slices.DeleteFunc(found, func(p Pair) bool { return p.Effect() <= c.Least })
		if len(found) > 0 {
			report.Paragraph(w, "These differ between the processes measured:")
		}
	}
	sortByEffect(found)
	table(w, found)
}

func sortByEffect(pairs []Pair) {
	slices.SortStableFunc(pairs, func(a, b Pair) int { return cmp.Compare(b.Effect(), a.Effect()) })
}

// table writes rows below the name of their result.
func table(w io.Writer, pairs []Pair) {
	var groups []string
	for _, p := range pairs {
		if g := p.group(); !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	slices.Sort(groups)
	for _, group := range groups {
		fmt.Fprintf(w, "%-*s%*s%*s%*s%8s\n", labelWidth, group,
			valueWidth, "old", valueWidth, "new", changeWidth, "change", "p")
		for _, p := range pairs {
			if p.group() == group {
				p.line(w)
			}
		}
	}
}

// line writes one row.
func (p Pair) line(w io.Writer) {
	label := p.label()
	if utf8.RuneCountInString(label) > labelWidth {
		fmt.Fprintln(w, label)
		label = ""
	}
	change, significance := "-", ""
	if p.Ratio > 0 {
		change = percent(p.Ratio - 1)
	} else if p.Old == p.New {
		change = percent(0)
	}
	if p.enough() {
		significance = strconv.FormatFloat(p.P, 'f', 3, 64)
	}
	text := pad(label, labelWidth) +
		left(report.Format(p.Old, p.Unit), valueWidth) +
		left(report.Format(p.New, p.Unit), valueWidth) +
		left(change, changeWidth) + left(significance, 8)
	fmt.Fprintln(w, strings.TrimRight(text, " "))
}

// keys writes rows that one of the reports lacks; without all, only how many of each engine and
// row.
func keys(w io.Writer, title string, found []Key, all bool) {
	if len(found) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s: %d row(s)\n", title, len(found))
	var lines []string
	for _, k := range found {
		text := k.group() + ", " + k.Engine + ", " + k.Row
		if all {
			text = k.group() + ", " + k.Engine + ", " + k.row()
		}
		if !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	for _, line := range lines {
		fmt.Fprintln(w, " ", line)
	}
}

// group names the result of a row.
func (k Key) group() string {
	text := k.Suite + ", not synced"
	if k.Sync {
		text = k.Suite + ", synced"
	}
	if k.Storage != "" {
		text += ", " + k.Storage
	}
	return text
}

func (k Key) label() string { return "  " + pad(k.Engine, engineWidth-1) + " " + k.row() }

// row names the row within its engine.
func (k Key) row() string {
	text := k.Row
	switch {
	case k.Cold:
		text += ", cold"
	case k.State != "":
		text += ", " + k.State
	}
	if k.X != 0 {
		text += ", " + strconv.FormatFloat(k.X, 'g', -1, 64)
	}
	return text
}

// pad pads a text with spaces on the right, left on the left.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

func left(text string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text))) + text
}

// percent returns a share as a signed percentage, or as a factor, in at most six characters.
func percent(share float64) string {
	switch p := share * 100; {
	case math.Abs(p) < 0.05:
		return "0%"
	case math.Abs(p) < 9.95:
		return fmt.Sprintf("%+.1f%%", p)
	case p < 899.5:
		return fmt.Sprintf("%+.0f%%", p)
	case share < 9999:
		return fmt.Sprintf("×%.0f", share+1)
	}
	return "×10⁴.."
}
