package main

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/bucketpath"
)

// candidatesMax is the maximum number of candidates to list.
const candidatesMax = 40

// completion says what an unfinished word can become.
type completion struct {
	start int      // where the word begins in the line
	word  string   // the longest common prefix of all candidates
	whole bool     // it is the only candidate, and complete
	names []string // candidates to list
	more  bool     // there are more candidates
}

// complete returns the completion of the word at the end of a line; ok is false if there is none.
// Candidates come from the current state of the database. Errors are left to the commands to
// report.
func (s *shell) complete(line string) (c completion, ok bool) {
	before, last, start, ok := unfinished(line)
	if !ok {
		return completion{}, false
	}
	c.start = start
	if len(before) == 0 {
		c.among(s.commandNames(), last)
		return c, len(c.names) > 0
	}
	name, args := before[0], before[1:]
	if name == "help" {
		c.among(s.commandNames(), last)
		return c, len(c.names) > 0
	}
	known := s.catalog.find(name)
	if known == nil {
		known = &command{Name: name}
	}
	err := s.completeArgument(&c, known, args, last)
	return c, err == nil && len(c.names) > 0
}

// completeArgument completes a word after a command and its other arguments.
func (s *shell) completeArgument(c *completion, of *command, args []string, last string) error {
	flag := ""
	if n := len(args); n > 0 && of.takesValue(args[n-1]) {
		flag = strings.TrimLeft(args[n-1], "-")
	}
	switch {
	case of.Name == "cd", flag == "bucket":
		return s.view(func(tx *stoat.Tx) error { return s.completePath(c, tx, of, last) })
	case flag == "" && strings.HasPrefix(last, "-"):
		for _, f := range of.Flags {
			c.names = append(c.names, "-"+f.Name)
		}
		c.among(c.names, last)
		return nil
	case flag == "prefix", flag == "start", flag == "end",
		flag == "" && strings.Contains(of.Arguments, "KEY"):
		inHex := slices.Contains(args, "-hex") || slices.Contains(args, "--hex")
		return s.view(func(tx *stoat.Tx) error { return s.completeKey(c, tx, args, last, inHex) })
	}
	return nil
}

// commandNames returns the names of all commands.
func (s *shell) commandNames() (names []string) {
	for _, c := range s.catalog {
		names = append(names, c.Name)
	}
	for _, b := range builtins() {
		if !slices.Contains(names, b.name) {
			names = append(names, b.name)
		}
	}
	return names
}

// among returns the completion of a word, with the names that begin with it as candidates.
func (c *completion) among(names []string, word string) {
	c.names = nil
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			c.names = append(c.names, name)
		}
	}
	slices.Sort(c.names)
	if len(c.names) > 0 {
		c.word = common(c.names[0], c.names[len(c.names)-1])
		c.whole = len(c.names) == 1
	}
}

// completePath completes the path of a bucket: for cd, from the current bucket.
func (s *shell) completePath(c *completion, tx *stoat.Tx, of *command, last string) error {
	cut := strings.LastIndexByte(last, '/') + 1
	for cut > 0 && escaped(last[:cut]) {
		cut = strings.LastIndexByte(last[:cut-1], '/') + 1
	}
	var around []string // the flag -bucket takes a path from the root
	if of.Name == "cd" {
		around = s.bucket
	}
	if cut > 0 {
		var err error
		if around, err = walk(around, last[:cut]); err != nil {
			return err
		}
	}
	b, err := find(tx, around)
	if err != nil {
		return err
	}
	var names []string
	for name := range b.Buckets() {
		names = append(names, last[:cut]+bucketpath.Escape(string(name)))
	}
	c.among(names, last)
	return tx.Err()
}

// completeKey completes a key of the bucket that the arguments name, by default the current one.
// Keys are sorted, so the first and the last that begin with the word have the common prefix of
// all.
func (s *shell) completeKey(
	c *completion, tx *stoat.Tx, args []string, last string, inHex bool,
) error {
	all := stoat.Prefix([]byte(last))
	write := func(key []byte) string { return string(key) }
	if inHex {
		var err error
		if all, err = hexRange(last); err != nil {
			return err
		}
		write = hex.EncodeToString
	}
	path := s.bucket
	if i := slices.IndexFunc(args, isBucketFlag); i >= 0 {
		text := strings.Join(args[i:min(len(args), i+2)], "=")
		parsed, err := bucketpath.Parse(text[strings.IndexByte(text, '=')+1:])
		if err != nil {
			return err
		}
		path = parsed
	}
	b, err := find(tx, path)
	if err != nil {
		return err
	}
	final := all
	final.Reverse, final.Limit = true, 1
	all.Limit = candidatesMax + 1
	for key := range b.Keys(all) {
		c.names = append(c.names, write(key))
	}
	for key := range b.Keys(final) {
		c.word = common(c.names[0], write(key))
	}
	c.whole = len(c.names) == 1
	if c.more = len(c.names) > candidatesMax; c.more {
		c.names = c.names[:candidatesMax]
	}
	return tx.Err()
}

// hexRange returns the range of the keys whose hexadecimal form begins with digits.
func hexRange(digits string) (stoat.Range, error) {
	if len(digits)%2 == 0 {
		prefix, err := hex.DecodeString(digits)
		return stoat.Prefix(prefix), err
	}
	first, err := hex.DecodeString(digits + "0")
	if err != nil {
		return stoat.Range{}, err
	}
	last, err := hex.DecodeString(digits + "f")
	return stoat.Range{Start: first, End: stoat.Prefix(last).End}, err
}

// common returns the longest common prefix of a and b.
func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}
