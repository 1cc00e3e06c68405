package external

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/bench/suite"
)

// answer is one line that a program prints. Pointers tell absent values from zeros.
type answer struct {
	Step        *int       `json:"step"`
	Samples     []*float64 `json:"samples"` // in nanoseconds
	Bytes       *int64     `json:"bytes"`
	Count       *int64     `json:"count"`
	SHA256      string     `json:"sha256"`
	Unsupported string     `json:"unsupported"`
}

// maxLine is the maximum length of a line.
const maxLine = 16 << 20

// answers is a writer that takes a program's answers to the steps of a script. At the first invalid
// answer it calls stop and takes no more.
type answers struct {
	steps  []Step
	record suite.Record
	stop   func()

	next        int    // the step to be answered next
	lines       int    // received
	rest        []byte // start of an incomplete line
	unsupported string // why the job is unsupported, if it is
	err         error  // what is wrong with the answers
}

// Write takes a part of the output. It never returns an error: the program may continue to print
// until it is stopped.
func (a *answers) Write(b []byte) (int, error) {
	n := len(b)
	for a.err == nil && len(b) > 0 {
		line, rest, ended := bytes.Cut(b, []byte("\n"))
		a.rest = append(a.rest, line...)
		if len(a.rest) > maxLine {
			a.fail(fmt.Errorf("line %d of its answer is longer than %d bytes", a.lines+1, maxLine))
		}
		if ended {
			a.end()
		}
		b = rest
	}
	return n, nil
}

// end takes the completed line.
func (a *answers) end() {
	if a.err != nil {
		return
	}
	a.lines++
	line := bytes.TrimSpace(a.rest)
	a.rest = a.rest[:0]
	if len(line) == 0 {
		return
	}
	if err := a.take(line); err != nil {
		a.fail(err)
	}
}

func (a *answers) fail(err error) {
	a.err = err
	a.stop()
}

// take checks one line and records its samples.
func (a *answers) take(line []byte) error {
	if !json.Valid(line) {
		return fmt.Errorf("line %d of its answer is not JSON: %s", a.lines, excerpt(line))
	}
	got, err := parse(line)
	if err != nil {
		return fmt.Errorf("line %d of its answer does not follow the protocol: %w", a.lines, err)
	}
	switch {
	case got.Step == nil && got.Unsupported != "" && a.next == 0 && a.unsupported == "":
		a.unsupported = got.Unsupported
		return nil
	case got.Step == nil:
		return fmt.Errorf("line %d of its answer has no step: %s", a.lines, excerpt(line))
	case a.unsupported != "" || a.next == len(a.steps):
		return fmt.Errorf("line %d of its answer is unexpected: %s", a.lines, excerpt(line))
	case *got.Step != a.next:
		return fmt.Errorf("line %d answers step %d instead of %s", a.lines, *got.Step,
			describe(a.steps, a.next))
	}
	if err := a.check(got); err != nil {
		return fmt.Errorf("line %d, %s: %w", a.lines, describe(a.steps, a.next), err)
	}
	a.next++
	return nil
}

// parse decodes a line of JSON.
func parse(line []byte) (got answer, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&got)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return got, fmt.Errorf("%s instead of an object", wrong.Value)
	case errors.As(err, &wrong):
		return got, fmt.Errorf("%q cannot be %s", wrong.Field, wrong.Value)
	case err != nil:
		return got, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return got, nil
}

// check compares the answer with what the current step requires, and records its samples.
func (a *answers) check(got answer) error {
	step := a.steps[a.next]
	switch {
	case got.Unsupported != "" && step.At.Row == "":
		return fmt.Errorf("every engine must support this step: %s", got.Unsupported)
	case got.Unsupported != "":
		return nil
	case len(got.Samples) != step.samples():
		return fmt.Errorf("%d samples instead of %d", len(got.Samples), step.samples())
	case step.reads() && got.Bytes == nil:
		return errors.New("\"bytes\" is missing")
	case step.reads() && *got.Bytes != step.Bytes:
		return fmt.Errorf("values of %d bytes instead of %d", *got.Bytes, step.Bytes)
	case step.Do == Digest && (got.Count == nil || got.SHA256 == ""):
		return errors.New("\"count\" or \"sha256\" is missing")
	case step.Do == Digest && *got.Count != int64(step.Count):
		return fmt.Errorf("%d pairs instead of %d", *got.Count, step.Count)
	case step.Do == Digest && !strings.EqualFold(got.SHA256, step.SHA256):
		return fmt.Errorf("the number of pairs is right, but they are not those written, in key "+
			"order: SHA-256 %s instead of %s", excerpt([]byte(got.SHA256)), step.SHA256)
	}
	values := make([]float64, 0, len(got.Samples))
	for i, v := range got.Samples {
		switch {
		case v == nil:
			return fmt.Errorf("sample %d is not a number", i)
		case *v <= 0:
			return fmt.Errorf("sample %d is %v ns, but must be positive", i, *v)
		}
		values = append(values, *v)
	}
	if step.At.Row != "" && len(values) > 0 {
		a.record(step.At, values...)
	}
	return nil
}

// finish takes the last line, which may lack a line end, and returns what is wrong with the answers
// as a whole.
func (a *answers) finish() error {
	if len(a.rest) > 0 {
		a.end()
	}
	if a.err == nil && a.unsupported == "" && a.next < len(a.steps) {
		return fmt.Errorf("it ended without an answer to %s, after %d of %d",
			describe(a.steps, a.next), a.next, len(a.steps))
	}
	return a.err
}

// excerpt returns the beginning of a text in printable form.
func excerpt(text []byte) string {
	const most = 70
	if len(text) > most {
		return fmt.Sprintf("%.*q...", most, text)
	}
	return fmt.Sprintf("%q", text)
}
