package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// format is how keys and values are written in arguments and in the output.
type format struct {
	hex, base64 bool // of arguments, and of the output unless it is json or raw
	json, raw   bool // of the output only
}

// inputFlags adds the flags for a command that only takes keys and values.
func (f *format) inputFlags(flags *flag.FlagSet) {
	flags.BoolVar(&f.hex, "hex", false, "keys and values are hexadecimal, like 00ff")
	flags.BoolVar(&f.base64, "base64", false, "keys and values are base64, like AP8=")
}

// flags adds the flags for a command that also prints them.
func (f *format) flags(flags *flag.FlagSet) {
	f.inputFlags(flags)
	flags.BoolVar(&f.json, "json", false, "print JSON, one object a line")
	flags.BoolVar(&f.raw, "raw", false, "print bytes as they are, on a terminal too")
}

// check returns an error if flags contradict each other.
func (f *format) check() error {
	if f.hex && f.base64 {
		return cmdline.Usagef("-hex and -base64 exclude each other")
	}
	if f.json && f.raw {
		return cmdline.Usagef("-json and -raw exclude each other")
	}
	return nil
}

// decode returns the bytes that an argument stands for.
func (f *format) decode(arg string) ([]byte, error) {
	var b []byte
	var err error
	switch {
	case f.hex:
		b, err = hex.DecodeString(arg)
	case f.base64:
		b, err = base64.StdEncoding.DecodeString(arg)
	default:
		b = []byte(arg)
	}
	if err != nil {
		return nil, cmdline.Usagef("%s: %v", quote([]byte(arg)), err)
	}
	return b, nil
}

// decodeKey returns the key that an argument stands for.
func (f *format) decodeKey(arg string) ([]byte, error) {
	key, err := f.decode(arg)
	if err == nil && len(key) == 0 {
		err = cmdline.Usagef("the key is empty: keys are never empty")
	}
	return key, err
}

// encoded reports whether the output is hexadecimal or base64.
func (f *format) encoded() bool { return (f.hex || f.base64) && !f.raw && !f.json }

// item returns a key or value as printed in a list: on a terminal, it is quoted unless it is plain
// text.
func (f *format) item(b []byte, terminal bool) string {
	switch {
	case f.encoded() && f.hex:
		return hex.EncodeToString(b)
	case f.encoded():
		return base64.StdEncoding.EncodeToString(b)
	case f.raw || !terminal || printable(b, ""):
		return string(b)
	}
	return strconv.Quote(string(b))
}

// document returns a value as printed alone: like item, but text may have several lines.
func (f *format) document(b []byte, terminal bool) string {
	if f.encoded() {
		return f.item(b, terminal) + "\n"
	}
	if f.raw || !terminal {
		return string(b)
	}
	if !printable(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), "\n\t") {
		return f.item(b, terminal) + "\n"
	}
	return strings.TrimSuffix(string(b), "\n") + "\n"
}

// printable reports whether a terminal shows b unambiguously: it is not empty, does not look
// quoted, and has only printable characters and those in also.
func printable(b []byte, also string) bool {
	if len(b) == 0 || b[0] == '"' || !utf8.Valid(b) {
		return false
	}
	return !bytes.ContainsFunc(b, func(r rune) bool {
		return !unicode.IsPrint(r) && !strings.ContainsRune(also, r)
	})
}

// quote returns a key for a message.
func quote(key []byte) string {
	const bytesMax = 100
	if len(key) > bytesMax {
		return fmt.Sprintf("%q… (%d bytes)", key[:bytesMax], len(key))
	}
	return strconv.Quote(string(key))
}
