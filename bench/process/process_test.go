//go:build unix

package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"
)

// What the test binary does as a program of its own. Each first says so on standard output.
const (
	stays   = "stays"   // does not end by itself
	leaves  = "leaves"  // starts one that stays, and ends
	expects = "expects" // starts one that stays, and waits for it
	runs    = "runs"    // runs one that stays with Run
)

func TestMain(m *testing.M) {
	if len(os.Args) != 2 {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case stays:
		fmt.Println(stays)
		time.Sleep(time.Hour)
	case leaves:
		exit(command(context.Background(), stays, os.Stdout).Start())
	case expects:
		exit(command(context.Background(), stays, os.Stdout).Run())
	case runs:
		exit(Run(command(context.Background(), stays, os.Stdout)))
	default:
		os.Exit(m.Run())
	}
}

func exit(err error) {
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// command returns the test binary as a program.
func command(ctx context.Context, what string, out *os.File) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], what)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd
}

// family is what a program and all that it starts print to.
type family struct{ out, in *os.File }

func newFamily(t *testing.T) family {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	if err := out.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return family{out, in}
}

// await waits until the one that stays is there.
func (f family) await(t *testing.T) {
	t.Helper()
	if _, err := io.ReadFull(f.out, make([]byte, len(stays)+1)); err != nil {
		t.Error(err)
	}
}

// gone fails the test unless all that could print end.
func (f family) gone(t *testing.T) {
	t.Helper()
	if err := f.in.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(f.out); err != nil {
		t.Errorf("somebody is left: %v, after %q", err, rest)
	}
}

func TestRun_stopsWhatTheProgramHasStarted(t *testing.T) {
	f := newFamily(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Run(command(ctx, expects, f.in)) }()
	f.await(t)
	cancel()
	if err := <-ended; err == nil {
		t.Error("a stopped program is no failure")
	}
	f.gone(t)
}

func TestRun_stopsWhatTheProgramHasLeftBehind(t *testing.T) {
	f := newFamily(t)
	if err := Run(command(t.Context(), leaves, f.in)); err != nil {
		t.Error(err)
	}
	f.gone(t)
}

func TestRun_leavesNothingWhenThisProgramIsKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can do that")
	}
	f := newFamily(t)
	cmd := command(t.Context(), runs, f.in)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.await(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the program was not killed")
	}
	f.gone(t)
}

func TestRun_hasNoProcessIfThereIsNoProgram(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "/no/such/program")
	if err := Run(cmd); err == nil || cmd.Process != nil {
		t.Errorf("error %v, process %v", err, cmd.Process)
	}
}
