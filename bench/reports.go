package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/bench/arguments"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/report/page"
)

const reportUsage = `usage: bench report FILE                              its tables
       bench report -markdown [-suite NAME] [-op ROWS] [-engine NAMES] FILE
       bench report -facts FILE                       machine and engines
       bench report -charts PAGE.html FILE            only curves, for a picture
       bench report -update PAGE.md                   renew the page's tables`

// reportFlags are the flags of the command report.
type reportFlags struct {
	suite           string
	rows, engines   string
	charts, update  string
	markdown, facts bool
}

// reportCommand is the command report.
func reportCommand(args []string, stdout io.Writer) error {
	var o reportFlags
	f := flag.NewFlagSet("bench report", flag.ContinueOnError)
	f.BoolVar(&o.markdown, "markdown", false, "print medians as Markdown")
	f.BoolVar(&o.facts, "facts", false, "print the machine and the engines as Markdown")
	f.StringVar(&o.suite, "suite", "", "suite of -markdown (default all)")
	f.StringVar(&o.rows, "op", "", "rows of -markdown, each as ROW or ROW/STATE (default all)")
	f.StringVar(&o.engines, "engine", "", "engines of -markdown (default all)")
	f.StringVar(&o.charts, "charts", "", "write a page with only the curves to this file")
	f.StringVar(&o.update, "update", "", "renew the tables of this Markdown page")
	files, err := arguments.Parse(f, args, reportUsage, stdout)
	switch {
	case err != nil:
		return err
	case o.update != "" && len(files) == 0:
		return updatePage(o.update)
	case o.update != "":
		return errors.New("report -update takes its files from the page")
	case len(files) != 1:
		return fmt.Errorf("report needs one results.json, got %d; usage: bench report FILE",
			len(files))
	}
	r, err := report.Read(files[0])
	if err != nil {
		return err
	}
	switch {
	case o.charts != "":
		return replaceFile(o.charts, func(w io.Writer) error {
			return page.WriteCharts(w, r, findSuite)
		})
	case o.facts:
		r.MarkdownFacts(stdout)
		return nil
	case o.markdown:
		return printMarkdown(stdout, r, report.Choice{
			Suite: o.suite, Rows: split(o.rows), Engines: split(o.engines),
		})
	}
	return r.Text(stdout, findSuite, true)
}

// printMarkdown prints a table for each result that has any of the chosen rows.
func printMarkdown(w io.Writer, r *report.Report, c report.Choice) error {
	found := false
	for _, result := range r.Results {
		s, err := findSuite(result.Suite)
		if err != nil {
			return err
		}
		var table bytes.Buffer
		if !result.Markdown(&table, s, c) {
			continue
		}
		if found {
			fmt.Fprintln(w)
		}
		found = true
		if _, err := table.WriteTo(w); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("no samples of these rows")
	}
	return nil
}

// What surrounds a generated part of a page: a comment with the arguments of the command report
// that prints the part, and another one after it.
const (
	partStart = "<!-- bench report "
	partStop  = " -->"
	partEnd   = "<!-- end -->"
)

// updatePage replaces the generated parts of a Markdown page. If anything fails, the page stays as
// it is.
func updatePage(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := renew(string(old))
	if err != nil {
		return fmt.Errorf("update %s: %w", filepath.Base(path), err)
	}
	return replaceFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// renew returns the text of a page with its generated parts printed again.
func renew(text string) (string, error) {
	var out bytes.Buffer
	for {
		before, rest, found := strings.Cut(text, partStart)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		command, rest, started := strings.Cut(rest, partStop)
		_, rest, ended := strings.Cut(rest, partEnd)
		if !started || !ended {
			return "", fmt.Errorf("no %s after %s%s", partEnd, partStart, command)
		}
		out.WriteString(partStart + command + partStop + "\n\n")
		if err := reportCommand(strings.Fields(command), &out); err != nil {
			return "", fmt.Errorf("report %s: %w", command, err)
		}
		out.WriteString("\n" + partEnd)
		text = rest
	}
}
