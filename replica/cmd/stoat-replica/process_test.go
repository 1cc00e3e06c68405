package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// commandVariable is set in the environment of a process that is the command.
const commandVariable = "STOAT_REPLICA_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is the command in a process of its own.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	out *bufio.Reader
	err bytes.Buffer
}

// start starts the command. Its key file is in the directory home, unless args say another. The end
// of the test kills it.
func start(t testing.TB, home string, stdin io.Reader, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(self, args...)}
	p.cmd.Env = append(os.Environ(), commandVariable+"=1", "HOME="+home, "AppData="+home,
		"XDG_CONFIG_HOME="+home)
	p.cmd.Stdin, p.cmd.Stderr = stdin, &p.err
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended already
	return p
}

// interrupt does to the command what ^C does.
func (p *process) interrupt() {
	p.t.Helper()
	if runtime.GOOS == "windows" {
		p.t.Skip("processes cannot be interrupted")
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Error(err)
	}
}

// end waits for the end of the command.
func (p *process) end() result {
	p.t.Helper()
	out, _ := io.ReadAll(p.out)
	_ = p.cmd.Wait() // the exit code says it
	return result{p.cmd.ProcessState.ExitCode(), string(out), p.err.String()}
}

// listens returns where a server listens.
func (p *process) listens() (addr string) {
	p.t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		if addr, found := strings.CutPrefix(strings.TrimSpace(line), "listens at "); found {
			return addr
		}
		if err != nil {
			p.t.Fatalf("the server has ended: %+v", p.end())
		}
	}
}

// dam passes on what a client says to a server, and some bytes of what that answers. Then it holds
// everything back.
type dam struct {
	addr string
	full chan struct{} // closed when it holds back
}

// newDam returns a dam before a server. It ends with the test.
func newDam(t testing.TB, server string, bytes int64) *dam {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &dam{l.Addr().String(), make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		here, err := l.Accept()
		if err != nil {
			return // nobody came
		}
		defer func() { _ = here.Close() }()
		there, err := net.Dial("tcp", server)
		if err != nil {
			t.Error(err)
			return
		}
		running.Go(func() {
			_, _ = io.CopyN(here, there, bytes) // fewer, if one of them has ended
			close(d.full)
		})
		_, _ = io.Copy(there, here)
		_ = there.Close()
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return d
}
