// Package page shows a report as one self-contained HTML page: no network, no script, no font. It
// reads well on a phone, on paper, and on light and dark screens.
//
// Everything on the page comes from the report and the description of its suites, except the
// figures published by the studies, which are data of this package. Charts are tables with SVG
// bars, or SVG drawings with their numbers in a table below. Text chosen by engines or users is
// escaped.
package page

import (
	"bytes"
	_ "embed" // for the two files below
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// markup is the template; immutable.
//
//go:embed page.html
var markup string

// style is the page's style sheet; immutable.
//
//go:embed page.css
var style string

// document is the data of the template.
type document struct {
	Style    template.CSS
	Title    string
	Started  string
	Facts    []fact
	Notes    []string
	Failures int
	Chapters []*chapter
}

// fact is a named text.
type fact struct{ Name, Value string }

// chapter is everything about one suite.
type chapter struct {
	ID        string
	Name      string
	About     string
	Sections  []section
	Published study
}

// Write writes the page. A result of a suite that find does not know is an error.
func Write(w io.Writer, r *report.Report, find func(name string) (suite.Suite, error)) error {
	d, err := newDocument(r, find)
	if err != nil {
		return err
	}
	return execute(w, "page", d)
}

// WriteCharts writes a page with only the charts of the rows along an axis, side by side: a picture
// for another document. A result of a suite that find does not know is an error.
func WriteCharts(
	w io.Writer, r *report.Report, find func(name string) (suite.Suite, error),
) error {
	d, err := newDocument(r, find)
	if err != nil {
		return err
	}
	return execute(w, "charts", d)
}

// execute writes a template of the page.
func execute(w io.Writer, name string, d *document) error {
	t, err := template.New("page").Parse(markup)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	var page bytes.Buffer
	if err := t.ExecuteTemplate(&page, name, d); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	_, err = w.Write(bytes.Map(printable, page.Bytes()))
	return err
}

func newDocument(r *report.Report, find func(name string) (suite.Suite, error)) (*document, error) {
	m := r.Machine
	d := &document{
		Style:   template.CSS(style), // a file of this package
		Title:   "Stoat and other embedded databases, measured",
		Started: r.Started.Format("2 January 2006, 15:04 MST"),
		Facts: []fact{
			{"Processor", fmt.Sprintf("%s, %d CPUs", m.CPU, m.CPUs)},
			{"Memory", show(float64(m.Memory), suite.Bytes)},
			{"System", m.System},
			{"Go", m.Go},
		},
		Notes:    r.Notes,
		Failures: r.Failures(),
	}
	chapters := make(map[string]*chapter)
	for _, result := range r.Results {
		s, err := find(result.Suite)
		if err != nil {
			return nil, err
		}
		c := chapters[s.Name]
		if c == nil {
			c = &chapter{
				ID:   "suite-" + strconv.Itoa(len(d.Chapters)+1),
				Name: s.Name, About: s.About, Published: published(s.Name),
			}
			chapters[s.Name] = c
			d.Chapters = append(d.Chapters, c)
		}
		id := c.ID + "-" + strconv.Itoa(len(c.Sections)+1)
		c.Sections = append(c.Sections, newSection(id, result, s))
	}
	return d, nil
}

// printable removes control characters, which a page must not contain.
func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
		return -1
	}
	return r
}

// show returns a value with three digits and its unit.
func show(v float64, unit suite.Unit) string {
	number, name := report.Scale(v, unit)
	return number + "\u202f" + name // a narrow no-break space
}
