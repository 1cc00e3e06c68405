package advise

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// The text is 80 columns wide. A table has a label, and columns with a mark after each figure.
const (
	textWidth   = 80
	labelWidth  = 15
	columnWidth = 8
)

// best marks the lowest figure of a column, and those indistinguishable from it.
const best = "*"

// Text writes the tables and the advice.
func (a *answer) Text(w io.Writer) {
	paragraph(w, "", a.Subject.String())
	paragraph(w, "", fmt.Sprintf("Measured on %s, %s, %s, %s.", a.FileSystem, a.durability(),
		counted(a.Settings.Rounds, "round"), machineText(a.Machine.CPU, a.Machine.CPUs)))
	for _, note := range a.Notes {
		paragraph(w, "", note)
	}
	for _, t := range a.Layouts {
		fmt.Fprintf(w, "\nHow to lay out the records, on %s: µs and bytes per record\n", t.Engine)
		t.write(w, "layout")
	}
	if len(a.Layouts) > 0 {
		fmt.Fprintln(w)
		paragraph(w, "", fmt.Sprintf("single, bulk: written in one transaction each, and all in "+
			"one. many: read in one transaction. sum: adds up %s. update: sets %s, in one "+
			"transaction each.",
			quote(short(a.Subject.Sum)), quote(short(a.Subject.Update))))
	}
	if len(a.Engines.Candidates) > 0 {
		fmt.Fprintf(w, "\nWhich engine, with the values as they are: µs and bytes per pair\n")
		a.Engines.write(w, "engine")
	}
	fmt.Fprintln(w)
	paragraph(w, "", "Medians. "+best+" marks the lowest, and what is no different. bytes: "+
		"on disk after Close, without holes or reserved blocks. all: the geometric mean of the "+
		"columns except single and sum, as a multiple of the lowest.")
	if len(a.Advice) > 0 {
		fmt.Fprintf(w, "\nAdvice\n")
	}
	for _, text := range a.Advice {
		paragraph(w, "- ", text)
	}
	for _, f := range a.Failures {
		fmt.Fprintln(w)
		paragraph(w, "", fmt.Sprintf("failed: %s, %s, round %d: %s", f.Engine, f.Task, f.Round,
			f.Error))
	}
}

func (a *answer) durability() string {
	if a.Settings.Sync {
		return "synced"
	}
	return "not synced"
}

func machineText(cpu string, cpus int) string {
	text := counted(cpus, "CPU")
	if cpu != "" {
		text = cpu + ", " + text
	}
	return text
}

// write writes the table.
func (t table) write(w io.Writer, label string) {
	line := label + strings.Repeat(" ", labelWidth-len(label))
	for _, c := range t.columns {
		line += fmt.Sprintf("%*s ", columnWidth-1, c.head)
	}
	fmt.Fprintln(w, line+fmt.Sprintf("%*s", columnWidth-1, "all"))
	costs := t.costs()
	for _, c := range t.Candidates {
		line := c.Name
		if n := utf8.RuneCountInString(line); n < labelWidth {
			line += strings.Repeat(" ", labelWidth-n)
		} else {
			fmt.Fprintln(w, line)
			line = strings.Repeat(" ", labelWidth)
		}
		for _, column := range t.columns {
			line += t.cell(c, column)
		}
		for _, o := range costs {
			if o.name == c.Name {
				line += fmt.Sprintf("%*s", columnWidth-1, report.Digits(o.factor))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// cell returns a figure with its mark.
func (t table) cell(c candidate, in column) string {
	f, ok := c.Figures[in.row]
	if !ok {
		return fmt.Sprintf("%*s ", columnWidth-1, "-")
	}
	mark := " "
	if _, least := t.best(in.row); !least.below(f) {
		mark = best
	}
	v := f.Median
	if in.unit == suite.Nanoseconds {
		v /= 1000
	}
	return fmt.Sprintf("%*s%s", columnWidth-1, report.Digits(v), mark)
}

// short shortens a name to fit on a line.
func short(name string) string {
	const most = 30
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most]) + "…"
	}
	return name
}

// paragraph writes a text after a bullet, on lines of up to the text's width.
func paragraph(w io.Writer, bullet, text string) {
	indent := strings.Repeat(" ", len(bullet))
	line := bullet
	for i, word := range strings.Fields(text) {
		if i > 0 {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > textWidth {
				fmt.Fprintln(w, line)
				line = indent
			} else {
				line += " "
			}
		}
		line += word
	}
	fmt.Fprintln(w, line)
}
