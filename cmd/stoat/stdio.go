package main

import (
	"bufio"
	"io"
	"os"
	"runtime"
)

// stdio is what a command reads and writes, with the key of its database. It is not safe for
// concurrent use.
type stdio struct {
	in          io.Reader
	out         *bufio.Writer
	unbuffered  io.Writer // what out writes to
	err         io.Writer
	outTerminal bool   // a person reads out
	errTerminal bool   // a person reads err
	colour      bool   // out understands colours
	key         []byte // of the database; nil: it is not encrypted
	shipped     bool   // the database is that of a folder which is shipped to object storage
}

func newStdio(in io.Reader, out, err io.Writer) *stdio {
	terminal := isTerminal(out)
	return &stdio{
		in:          in,
		out:         bufio.NewWriter(out),
		unbuffered:  out,
		err:         err,
		outTerminal: terminal,
		errTerminal: isTerminal(err),
		colour:      terminal && coloured(runtime.GOOS, os.Getenv),
	}
}

// isTerminal reports whether w is a terminal, or another character device except the null device.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// coloured reports whether a terminal of this system and environment understands colours. The
// classic console of Windows does not, unless the program changes its mode.
func coloured(goos string, getenv func(string) string) bool {
	if getenv("NO_COLOR") != "" || getenv("TERM") == "dumb" {
		return false
	}
	return goos != "windows" || getenv("WT_SESSION") != "" || getenv("TERM") != ""
}

// style is how text looks on a terminal: the parameter of an SGR escape sequence.
type style string

// Styles.
const (
	plain style = ""
	bold  style = "1"
	faint style = "2"
	green style = "32"
)

// paint returns text in the style, if out understands it.
func (s *stdio) paint(text string, look style) string {
	if !s.colour || look == plain {
		return text
	}
	return "\x1b[" + string(look) + "m" + text + "\x1b[0m"
}
