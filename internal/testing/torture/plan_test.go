package torture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// plan is a history as data: a list of actions on a database. Any plan can be performed, even after
// some of its actions are removed.
type plan []action

// action is one operation as data. The zero value of a field means nothing special.
type action struct {
	verb    string
	reader  int     // the number of a held reader; 0 reads the newest state
	in      string  // the bucket: names separated by slashes, "" for the root
	key     string  // or a bucket's name, or the start of a range
	end     string  // of a range
	value   payload // what is written
	old     payload // what a comparison expects
	n       int     // a limit, count, cursor's number, milliseconds or sequence
	reverse bool
}

// payload is a recipe for a value.
type payload struct {
	shape string // text, noise or event; in a comparison also current or absent
	size  int    // about, in bytes
	seed  int
}

// The shapes that depend on the state when the action is performed.
const (
	current = "current"
	absent  = "absent"
)

// String returns the value.
func (p payload) String() string {
	switch p.shape {
	case "text":
		return strings.Repeat(string(rune('a'+p.seed%26))+"bc", p.size/3+1)[:p.size]
	case "noise":
		rng := rand.New(rand.NewPCG(uint64(p.seed), 3))
		value := make([]byte, 0, p.size+8)
		for len(value) < p.size {
			value = binary.LittleEndian.AppendUint64(value, rng.Uint64())
		}
		return string(value[:p.size])
	case "event":
		rng := rand.New(rand.NewPCG(uint64(p.seed), 4))
		return fmt.Sprintf(`{"kind":%q,"id":"%016x","count":%d,"text":%q}`,
			[]string{"login", "order", "visit"}[p.seed%3], rng.Uint64(), rng.IntN(1000),
			strings.Repeat("again ", p.size/20))
	}
	return ""
}

// next returns the recipe of another value of the same shape and size.
func (p payload) next(i int) payload { return payload{p.shape, p.size, p.seed + i} }

func (p payload) text() string { return fmt.Sprintf("%s:%d:%d", p.shape, p.size, p.seed) }

// text returns the action as one line.
func (a action) text() string {
	var b strings.Builder
	b.WriteString(a.verb)
	if a.reader != 0 {
		fmt.Fprintf(&b, " reader=%d", a.reader)
	}
	for _, f := range []struct{ name, text string }{{"in", a.in}, {"key", a.key}, {"end", a.end}} {
		if f.text != "" {
			fmt.Fprintf(&b, " %s=%q", f.name, f.text)
		}
	}
	if a.value != (payload{}) {
		fmt.Fprintf(&b, " value=%s", a.value.text())
	}
	if a.old != (payload{}) {
		fmt.Fprintf(&b, " old=%s", a.old.text())
	}
	if a.n != 0 {
		fmt.Fprintf(&b, " n=%d", a.n)
	}
	if a.reverse {
		b.WriteString(" reverse")
	}
	return b.String()
}

// text returns the plan, one line per action.
func (p plan) text() string {
	var b strings.Builder
	for _, a := range p {
		b.WriteString(a.text() + "\n")
	}
	return b.String()
}

// parsePlan parses the result of text. It skips empty lines and those that start with #.
func parsePlan(text string) (p plan, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		a, err := parseAction(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		p = append(p, a)
	}
	return p, nil
}

func parseAction(line string) (a action, err error) {
	a.verb, line, _ = strings.Cut(line, " ")
	if !slices.Contains(verbs, a.verb) {
		return a, fmt.Errorf("unknown verb %q", a.verb)
	}
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line, err = a.parseField(line); err != nil {
			return a, err
		}
	}
	return a, nil
}

// parseField sets the first field of the line and returns the rest.
func (a *action) parseField(line string) (rest string, err error) {
	end := strings.IndexAny(line+" ", "= ")
	name, rest := line[:end], line[end:]
	if name == "reverse" {
		a.reverse = true
		return rest, nil
	}
	if rest = strings.TrimPrefix(rest, "="); strings.HasPrefix(rest, `"`) {
		return a.parseQuoted(name, rest)
	}
	word, rest, _ := strings.Cut(rest, " ")
	switch name {
	case "reader":
		a.reader, err = strconv.Atoi(word)
	case "n":
		a.n, err = strconv.Atoi(word)
	case "value":
		a.value, err = parsePayload(word)
	case "old":
		a.old, err = parsePayload(word)
	default:
		err = fmt.Errorf("unknown field %q", name)
	}
	return rest, err
}

func (a *action) parseQuoted(name, line string) (rest string, err error) {
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		return "", fmt.Errorf("field %s: %w", name, err)
	}
	text, err := strconv.Unquote(quoted)
	switch name {
	case "in":
		a.in = text
	case "key":
		a.key = text
	case "end":
		a.end = text
	default:
		err = errors.Join(err, fmt.Errorf("unknown text %q", name))
	}
	return line[len(quoted):], err
}

func parsePayload(word string) (p payload, err error) {
	shapes := []string{"text", "noise", "event", current, absent}
	parts := strings.Split(word, ":")
	if len(parts) != 3 || !slices.Contains(shapes, parts[0]) {
		return p, fmt.Errorf("value %q, want shape:size:seed", word)
	}
	size, err := strconv.Atoi(parts[1])
	seed, err2 := strconv.Atoi(parts[2])
	if size < 0 || seed < 0 {
		err = fmt.Errorf("value %q has a number below 0", word)
	}
	return payload{parts[0], size, seed}, errors.Join(err, err2)
}

func TestPlan_isReadAsWritten(t *testing.T) {
	for seed := range uint64(20) {
		p := drawPlan(seed, 300)
		got, err := parsePlan("# a comment\n\n" + p.text())
		ok(t, err)
		if !slices.Equal(got, p) {
			t.Fatalf("seed %d: the plan is read as\n%s, want\n%s", seed, got.text(), p.text())
		}
	}
}

func TestPlan_saysWhatIsWrong(t *testing.T) {
	for _, line := range []string{
		"fly", "put kex=1", `put kex="1"`, `put key="`, "put value=noise:1", "put value=odd:1:1",
		"put n=x", "put value=noise:-1:1",
	} {
		_, err := parsePlan("flush\n" + line)
		if err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%s: error %v", line, err)
		}
	}
}
