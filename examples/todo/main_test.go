package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// do runs the program to its end and returns what it printed.
func do(t *testing.T, dir, in string, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(append([]string{"-db", dir}, args...), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTodo_keepsTasksBetweenRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "todo.db")
	got := do(t, dir, "", "add", "Buy", "milk") + do(t, dir, "", "add", "Feed the stoat") +
		do(t, dir, "", "done", "1") + do(t, dir, "", "list")
	want := "added 1\nadded 2\n1 [x] Buy milk\n2 [ ] Feed the stoat\n1 open\n"
	if got != want {
		t.Errorf("printed %q instead of %q", got, want)
	}
}

func TestTodo_saysWhatIsWrongAndGoesOn(t *testing.T) {
	got := do(t, t.TempDir(), "done 7\ndone milk\nadd\n\nbuy milk\nlist\n")
	want := "there is no task 7\n\"milk\" is not the number of a task\n" +
		"the task has no text: use add TEXT\n" +
		"unknown command \"buy\": use add TEXT, done ID, list or watch\n0 open\n"
	if got != want {
		t.Errorf("printed %q instead of %q", got, want)
	}
}

func TestTodo_watchesWhileTasksChange(t *testing.T) {
	dir := t.TempDir()
	do(t, dir, "", "add", "Buy milk")
	commands, in := io.Pipe()
	printed, out := io.Pipe()
	ended := make(chan error)
	go func() {
		err := run([]string{"-db", dir}, commands, out)
		out.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewScanner(printed)
	for _, step := range []struct {
		command string
		want    []string // in any order: commands and watching print side by side
	}{
		{"watch", []string{"+ 1 Buy milk"}},
		{"add Feed the stoat", []string{"added 2", "+ 2 Feed the stoat"}},
		{"done 1", []string{"- 1 Buy milk"}},
		{"done 1", nil}, // nothing changes
		{"add Sleep", []string{"added 3", "+ 3 Sleep"}},
	} {
		fmt.Fprintln(in, step.command)
		got := map[string]bool{}
		for range step.want {
			if !lines.Scan() {
				t.Fatalf("after %q there is no more output: %v", step.command, lines.Err())
			}
			got[lines.Text()] = true
		}
		for _, line := range step.want {
			if !got[line] {
				t.Errorf("after %q it printed %v, without %q", step.command, got, line)
			}
		}
	}
	in.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if lines.Scan() {
		t.Errorf("printed %q in the end", lines.Text())
	}
}
