package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// runner runs the steps.
type runner struct {
	root     string // the repository's folder
	level    level
	seed     uint64 // of the steps that have one; not 0
	progress io.Writer
	tally    tally
}

// all runs every step and every fuzz target, and stops at the first loss.
func (r *runner) all(ctx context.Context) error {
	for _, s := range steps {
		if err := r.step(ctx, s); err != nil {
			return err
		}
	}
	return r.fuzz(ctx)
}

// errNothing is the failure of a step that ran no counting tests.
var errNothing = errors.New("no test logged what it tried: check the names in steps.go")

// step runs one step and adds up what it logs. One that skips its tests counts nothing.
func (r *runner) step(ctx context.Context, s step) error {
	args := s.arguments(r.level, r.seed)
	output, took, err := r.run(ctx, s.name, s.dir, args)
	if err != nil {
		return err
	}
	found := counted(output)
	if n := passed(output); n > 0 && s.passes != "" {
		found = append(found, row{noun: s.passes, count: n})
	}
	if reason := skipped(output); len(found) == 0 && reason != "" {
		fmt.Fprintf(r.progress, "    skipped: %s\n", reason)
		return nil
	}
	if len(found) == 0 {
		return &lost{output, again(s.dir, args), fmt.Errorf("%s: %w", s.name, errNothing)}
	}
	r.tally.addAll(found, took)
	for _, row := range found {
		fmt.Fprintf(r.progress, "    %s %s\n", grouped(row.count), row.noun)
	}
	return nil
}

// fuzz runs the fuzz targets of all packages of the library.
func (r *runner) fuzz(ctx context.Context) error {
	list, err := r.quiet(ctx, "list", "./...")
	if err != nil {
		return err
	}
	for pkg := range strings.FieldsSeq(list) {
		names, err := r.quiet(ctx, "test", "-list", "^Fuzz", pkg)
		if err != nil {
			return err
		}
		for _, target := range targets(names) {
			name := "fuzz " + strings.TrimPrefix(pkg, "github.com/stoatdb/stoat/") + " " + target
			output, took, err := r.run(ctx, name, library, fuzzArguments(pkg, target, r.level))
			if err != nil {
				return err
			}
			r.tally.add("fuzzed inputs", fuzzed(output), took)
		}
	}
	return nil
}

// lost is the failure of a step.
type lost struct {
	output string
	again  string // the command that reproduces it
	err    error
}

func (l *lost) Error() string { return fmt.Sprintf("%v; reproduce with\n%s", l.err, l.again) }

func (l *lost) Unwrap() error { return l.err }

// run runs go and returns its output.
func (r *runner) run(
	ctx context.Context, name, dir string, args []string,
) (output string, took time.Duration, err error) {
	fmt.Fprintf(r.progress, "%s: go %s\n", name, strings.Join(args, " "))
	start := time.Now()
	out, err := r.command(ctx, dir, args).CombinedOutput()
	took = time.Since(start)
	if err != nil {
		if ctx.Err() != nil {
			err = errors.Join(ctx.Err(), err)
		}
		return "", 0, &lost{string(out), again(dir, args), fmt.Errorf("%s: %w", name, err)}
	}
	fmt.Fprintf(r.progress, "    ok, %.0f s\n", took.Seconds())
	return string(out), took, nil
}

// quiet runs go for its output.
func (r *runner) quiet(ctx context.Context, args ...string) (string, error) {
	cmd := r.command(ctx, library, args)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", &lost{complaint.String(), again(library, args), err}
	}
	return string(out), nil
}

func (r *runner) command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(r.root, dir)
	return cmd
}

// again returns a command for a shell in the repository's root.
func again(dir string, args []string) string {
	words := []string{"go"}
	for i, arg := range args {
		if strings.ContainsAny(arg, "$^ *()|'") {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
		if i == 0 && dir != library {
			words = []string{"go", "-C", dir, arg}
		}
	}
	return strings.Join(words, " ")
}
