package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// prompt reads lines from a terminal, which is in raw mode only while it reads. It is not safe for
// concurrent use.
type prompt struct {
	in, out  *os.File
	history  term.History
	terminal *term.Terminal
}

// screen is the two halves of a terminal.
type screen struct {
	io.Reader
	io.Writer
}

// read returns the next line, or io.EOF at the end of the input. An interrupt discards the line and
// prompts again.
func (p *prompt) read(
	text string, complete func(line string) (completion, bool),
) (line string, err error) {
	mode, err := term.MakeRaw(int(p.in.Fd()))
	if err != nil {
		return "", fmt.Errorf("set the terminal's mode: %w", err)
	}
	defer func() { err = errors.Join(err, term.Restore(int(p.in.Fd()), mode)) }()
	if p.terminal == nil {
		p.terminal = newTerminal(screen{&interruptReader{p.in}, p.out}, p.history)
	}
	if width, height, err := term.GetSize(int(p.out.Fd())); err == nil && width > 0 {
		if err := p.terminal.SetSize(width, height); err != nil {
			return "", err
		}
	}
	p.terminal.SetPrompt(text)
	p.terminal.AutoCompleteCallback = completeOnTab(p.terminal, complete)
	p.terminal.SetBracketedPasteMode(true)
	defer p.terminal.SetBracketedPasteMode(false)
	line, err = p.terminal.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	return line, err
}

// newTerminal returns a line editor.
func newTerminal(on io.ReadWriter, history term.History) *term.Terminal {
	t := term.NewTerminal(on, "")
	if history != nil {
		t.History = history
	}
	return t
}

// completeOnTab returns the line editor's key callback: Tab completes the word before the cursor,
// and lists the candidates if there are several.
func completeOnTab(
	list io.Writer, complete func(line string) (completion, bool),
) func(line string, at int, key rune) (string, int, bool) {
	return func(line string, at int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		head, tail := line[:at], line[at:]
		c, ok := complete(head)
		if !ok {
			return line, at, true
		}
		completed := c.apply(head)
		if completed == head && !c.whole {
			fmt.Fprint(list, c.listing())
		}
		return completed + tail, len(completed), true
	}
}

// apply returns the line with its last word completed. A space follows a whole word, except a
// bucket's path, which may continue.
func (c *completion) apply(line string) string {
	if c.word == "" {
		return line
	}
	word := quote(c.word)
	if c.whole {
		return line[:c.start] + word + " "
	}
	if word != c.word { // what is typed next continues the word
		word = strings.TrimSuffix(word, word[:1])
	}
	return line[:c.start] + word
}

// listing returns the candidates, one per line.
func (c *completion) listing() string {
	var b strings.Builder
	for _, name := range c.names {
		b.WriteString("  " + quote(name) + "\n")
	}
	if c.more {
		b.WriteString("  …\n")
	}
	return b.String()
}

// interruptReader reads what the user types, and turns an interrupt into the keys that clear the
// line and end it: the line editor would take it for the end of the input. Three keys need a buffer
// of at least three bytes.
type interruptReader struct {
	in io.Reader
}

const (
	interrupt = "\x03"       // Ctrl-C
	emptyLine = "\x05\x15\r" // Ctrl-E, Ctrl-U, Enter
)

// Read implements io.Reader.
func (r *interruptReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p[:max(1, len(p)/len(emptyLine))])
	return copy(p, strings.ReplaceAll(string(p[:n]), interrupt, emptyLine)), err
}
