package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// historyMax is how many earlier lines are kept.
const historyMax = 1000

// history is the earlier lines, kept in a file that only its owner may read. A line that starts
// with a space, or repeats the previous one, is not kept. It is not safe for concurrent use.
type history struct {
	lines []string // oldest first
	file  *os.File // nil if lines are kept only in memory
}

// openHistory returns the lines in a file, which it creates if necessary. An empty name means no
// file. The history is usable even if it returns an error.
func openHistory(name string) (*history, error) {
	h := new(history)
	if name == "" {
		return h, nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return h, err
	}
	if err := h.read(name); err != nil {
		return h, err
	}
	var err error
	if h.file, err = os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return h, err
	}
	return h, h.file.Chmod(0o600) // another program may have created it
}

// read adds the newest lines of a file, and shortens a file that has become long.
func (h *history) read(name string) error {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(strings.NewReader(string(data)))
	lines.Buffer(nil, lineMax)
	for lines.Scan() {
		h.lines = append(h.lines, lines.Text())
	}
	if len(h.lines) <= 2*historyMax {
		return lines.Err()
	}
	h.lines = slices.Clone(h.lines[len(h.lines)-historyMax:])
	return errors.Join(lines.Err(),
		os.WriteFile(name, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600))
}

// Add implements term.History.
func (h *history) Add(line string) {
	if strings.TrimSpace(line) == "" || line[0] == ' ' ||
		len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if h.file == nil {
		return
	}
	if _, err := h.file.WriteString(line + "\n"); err != nil {
		h.close() // the line stays in memory
	}
}

// Len implements term.History.
func (h *history) Len() int { return len(h.lines) }

// At implements term.History: 0 is the newest line.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// close closes the file. Losing lines on an error is acceptable.
func (h *history) close() {
	if h.file != nil {
		_ = h.file.Close()
		h.file = nil
	}
}
