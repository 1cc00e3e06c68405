package main

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/bucketpath"
)

// builtin is a command of the shell itself.
type builtin struct {
	name, arguments, summary string
	ends                     bool // the command ends the shell
	run                      func(s *shell, args []string) (code int, err error)
}

// builtins returns the commands of the shell itself.
func builtins() []builtin {
	return []builtin{
		{"cd", "[PATH]", "change to a bucket: a/b, .. or, without PATH, the root", false, changeBucket},
		{"help", "[COMMAND]", "list the commands, or describe one", false, help},
		{"exit", "", "end the shell, as Ctrl-D does", true, exit},
		{"quit", "", "the same", true, exit},
	}
}

// builtinNamed returns the builtin with the name, or nil.
func builtinNamed(name string) *builtin {
	for _, b := range builtins() {
		if b.name == name {
			return &b
		}
	}
	return nil
}

func exit(*shell, []string) (int, error) { return exitOK, nil }

// changeBucket changes the current bucket.
func changeBucket(s *shell, args []string) (int, error) {
	if len(args) > 1 {
		return exitUsage, errors.New("cd takes one path, in quotes if it has spaces")
	}
	target := ""
	if len(args) == 1 {
		target = args[0]
	}
	path, err := walk(s.bucket, target)
	if err != nil {
		return exitUsage, fmt.Errorf("cd %s: %w", target, err)
	}
	err = s.view(func(tx *stoat.Tx) error {
		_, err := find(tx, path)
		return err
	})
	if err != nil {
		return exitError, fmt.Errorf("cd %s: %w", target, err)
	}
	s.bucket = path
	return exitOK, nil
}

// help lists the commands, or has the program describe one.
func help(s *shell, args []string) (int, error) {
	if len(args) > 0 && builtinNamed(args[0]) == nil {
		return s.execute(append([]string{"help"}, args...))
	}
	fmt.Fprint(s.out, "Commands on the database and the current bucket; "+
		"\"help COMMAND\" describes one:\n\n")
	for _, c := range s.catalog {
		if builtinNamed(c.Name) == nil {
			fmt.Fprintf(s.out, "  %-9s  %s\n", c.Name, c.Summary)
		}
	}
	fmt.Fprint(s.out, "\nCommands of the shell:\n\n")
	for _, b := range builtins() {
		fmt.Fprintf(s.out, "  %-9s  %s\n", b.name, b.summary)
	}
	return exitOK, nil
}

// walk returns the path of target, seen from the bucket at from: relative, or absolute with a
// leading slash; ".." is the parent bucket.
func walk(from []string, target string) ([]string, error) {
	path := append([]string(nil), from...)
	if target == "" || target[0] == '/' {
		path = nil
	}
	for len(target) > 0 && target[0] == '/' {
		target = target[1:]
	}
	for len(target) > 0 && target[len(target)-1] == '/' && !escaped(target) {
		target = target[:len(target)-1]
	}
	names, err := bucketpath.Parse(target)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		switch {
		case name != "..":
			path = append(path, name)
		case len(path) > 0:
			path = path[:len(path)-1]
		}
	}
	return path, nil
}

// escaped reports whether the last character of a path is part of a name.
func escaped(path string) bool {
	n := 0
	for i := len(path) - 2; i >= 0 && path[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}
