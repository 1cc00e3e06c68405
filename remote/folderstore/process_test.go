package folderstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/remote/objstore"
)

// The environment variables of a child process: the folder of the store, and the child's name.
const (
	folderVariable = "STOAT_FOLDERSTORE_CHILD_FOLDER"
	nameVariable   = "STOAT_FOLDERSTORE_CHILD_NAME"
)

// contested is how many names the processes try to create.
const contested = 60

func TestMain(m *testing.M) {
	folder := os.Getenv(folderVariable)
	if folder == "" {
		os.Exit(m.Run())
	}
	if err := contend(folder, os.Getenv(nameVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// contend waits for the end of the input, and prints the names that this process has created.
func contend(folder, process string) error {
	s, err := Open(folder)
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for n := range contested {
		name := fmt.Sprintf("log/%02d/%d", n, n)
		switch err := s.Create(context.Background(), name, []byte(process)); {
		case err == nil:
			fmt.Println(name)
		case !errors.Is(err, objstore.ErrExists):
			return err
		}
	}
	return nil
}

// child is a process that contends.
type child struct {
	command *exec.Cmd
	start   io.Closer
	out     strings.Builder
	errs    strings.Builder
}

func startChild(t *testing.T, folder, name string) *child {
	t.Helper()
	c := &child{command: exec.CommandContext(t.Context(), os.Args[0])}
	c.command.Env = append(os.Environ(), folderVariable+"="+folder, nameVariable+"="+name)
	c.command.Stdout, c.command.Stderr = &c.out, &c.errs
	start, err := c.command.StdinPipe()
	check(t, err)
	c.start = start
	check(t, c.command.Start())
	return c
}

func TestStore_hasOneWinnerAmongProcesses(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "store") // which the first process makes
	children := map[string]*child{}
	for i := range 4 {
		name := fmt.Sprintf("process %d", i)
		children[name] = startChild(t, folder, name)
	}
	for _, c := range children {
		check(t, c.start.Close())
	}
	winners := map[string]string{}
	for process, c := range children {
		if err := c.command.Wait(); err != nil {
			t.Fatalf("%s: %v: %s", process, err, c.errs.String())
		}
		for name := range strings.FieldsSeq(c.out.String()) {
			if other := winners[name]; other != "" {
				t.Errorf("%s was created by %s and %s", name, other, process)
			}
			winners[name] = process
		}
	}
	s, err := Open(folder)
	check(t, err)
	listed, err := s.List(t.Context(), "", "", contested+1)
	if err != nil || len(listed) != contested || len(winners) != contested {
		t.Errorf("%d names are listed, and %d have a winner: %v", len(listed), len(winners), err)
	}
	for name, process := range winners {
		body, err := s.Get(t.Context(), name, 0, -1)
		if err != nil || string(body) != process {
			t.Errorf("%s was created by %s, and holds %q: %v", name, process, body, err)
		}
	}
}
