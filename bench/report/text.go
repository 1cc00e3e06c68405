package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/bench/suite"
)

// Text writes the tables of all results and, with details, the distributions behind them.
func (r *Report) Text(
	w io.Writer, find func(name string) (suite.Suite, error), details bool,
) error {
	m := r.Machine
	memory := Format(float64(m.Memory), suite.Bytes)
	fmt.Fprintf(w, "%s, %d CPUs, %s memory\n", m.CPU, m.CPUs, memory)
	fmt.Fprintf(w, "%s, %s, %s\n", m.System, m.Go, r.Started.Format("2006-01-02 15:04 MST"))
	for _, note := range r.Notes {
		Paragraph(w, note)
	}
	for _, result := range r.Results {
		s, err := find(result.Suite)
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
		result.Table(w, s)
		if details {
			result.Details(w, s)
		}
	}
	return nil
}

// Paragraph writes a text on lines of up to 80 columns.
func Paragraph(w io.Writer, text string) {
	var width int
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case width+1+n > 80:
			fmt.Fprintln(w)
			width = 0
		default:
			fmt.Fprint(w, " ")
			width++
		}
		fmt.Fprint(w, word)
		width += n
	}
	fmt.Fprintln(w)
}

// JSON writes the report in the form that [Read] reads.
func (r *Report) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
