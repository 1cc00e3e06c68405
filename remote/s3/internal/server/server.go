// Package server runs servers of object storage as programs of their own, for tests: it installs
// them, starts them, kills them as kill -9 does, and starts them again.
package server

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Installed returns the path of a server's program, which the script servers/install of the module
// installs unless it is there.
func Installed(t testing.TB, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), script(t), name).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatalf("%s cannot be installed: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

// script returns the path of servers/install, seen from the folder of any package of the module.
func script(t testing.TB) string {
	t.Helper()
	for dir := "."; len(dir) < 20; dir = filepath.Join(dir, "..") {
		name := filepath.Join(dir, "servers", "install")
		if _, err := os.Stat(name); err == nil {
			return name
		}
	}
	t.Fatal("there is no servers/install above the test's folder")
	return ""
}

// FreeAddress returns an address where nobody listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// Process is a running server.
type Process struct {
	cmd  *exec.Cmd
	said chan string // the end of what it has said, once it has ended
}

// Start starts a server until the end of the test, and returns when something listens at its
// address.
func Start(t testing.TB, address string, command ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.Command(command[0], command[1:]...), said: make(chan string, 1)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if said := p.Kill(); t.Failed() {
			t.Log(said)
		}
	})
	go func() {
		var said []string // the newest lines
		for lines := bufio.NewScanner(out); lines.Scan(); {
			said = append(said[max(0, len(said)-20):], lines.Text())
		}
		p.said <- strings.Join(said, "\n")
	}()
	p.await(t, address)
	return p
}

// await returns when something listens at an address.
func (p *Process) await(t testing.TB, address string) {
	t.Helper()
	tick, limit := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-tick.C:
		case said := <-p.said:
			p.said <- said
			t.Fatalf("%s: %v\n%s", p.cmd.Path, p.cmd.Wait(), said)
		case <-limit:
			t.Fatalf("%s does not listen at %s: %s", p.cmd.Path, address, p.Kill())
		}
	}
}

// Kill ends the server as kill -9 does, unless it has ended, and returns the end of what it
// said.
func (p *Process) Kill() (said string) {
	_ = p.cmd.Process.Kill()
	said = <-p.said
	p.said <- said
	_ = p.cmd.Wait()
	return said
}
