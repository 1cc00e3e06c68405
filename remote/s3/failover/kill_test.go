package failover

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	rounds = flag.Int("failover.rounds", 3, "how many writers are killed or frozen")
	seed   = flag.Uint64("failover.seed", 0, "where random choices start; 0: anywhere")
)

// relief is how a writer is replaced.
type relief int

// Reliefs. A process has followed the database and takes over, or the command has done so, and a
// process opens the folder that it leaves.
const (
	byProcess relief = iota
	byCommand
	reliefs
)

func (r relief) String() string { return []string{"by a process", "by the command"}[r] }

// chain is a database whose writers replace each other.
type chain struct {
	plan    plan
	dirs    string // where the folders of the writers are
	number  int    // of the newest of them
	command string // the program stoat-remote
	writer  *child
	took    [reliefs][]time.Duration // from the end of a writer to the first commit of the next
}

func newChain(t *testing.T, address string) *chain {
	t.Helper()
	c := &chain{plan: plan{Address: address, Prefix: "db/", Writers: 4}, dirs: t.TempDir()}
	var err error
	c.command, err = command()
	ok(t, err)
	c.writer = start(t, c.in(0))
	c.writer.awaitTotal(t, sayOpened, 1)
	return c
}

// command builds the program stoat-remote, once, in a folder that TestMain removes.
var command = sync.OnceValues(func() (name string, err error) {
	name = filepath.Join(programs, "stoat-remote.exe")
	out, err := exec.Command("go", "build", "-o", name, "../cmd/stoat-remote").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return name, err
})

// in returns the plan of a writer with a folder of its own.
func (c *chain) in(n int) plan {
	p := c.plan
	p.Dir = filepath.Join(c.dirs, fmt.Sprint(n))
	return p
}

// standby is what follows the database, and takes over when it is told to.
type standby struct {
	next *child    // nil with the command, until that has taken over
	cmd  *exec.Cmd // or nil
	file string    // the trigger of the command
}

// prepare starts a standby.
func (c *chain) prepare(t *testing.T, how relief) *standby {
	t.Helper()
	c.number++
	p := c.in(c.number)
	if how == byProcess {
		p.Standby = true
		s := &standby{next: start(t, p)}
		s.next.awaitTotal(t, sayFollows, 1)
		return s
	}
	s := &standby{file: p.Dir + ".trigger"}
	url := fmt.Sprintf("s3://%s/%s?insecure=true&region=%s&endpoint=%s", testBucket, p.Prefix,
		testRegion, p.Address)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	s.cmd = exec.CommandContext(ctx, c.command, "standby", "-trigger", s.file, url, p.Dir)
	s.cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+testKey, "AWS_SECRET_ACCESS_KEY="+testSecret)
	ok(t, s.cmd.Start())
	return s
}

// takeOver makes a standby the writer, and waits for its first commit.
func (c *chain) takeOver(t *testing.T, s *standby) {
	t.Helper()
	began, how := time.Now(), byProcess
	if s.cmd != nil {
		how = byCommand
		ok(t, os.WriteFile(s.file, nil, 0o600))
		ok(t, s.cmd.Wait())
		s.next = start(t, c.in(c.number))
	} else {
		_, err := fmt.Fprintln(s.next.input, "take over")
		ok(t, err)
	}
	s.next.awaitTotal(t, "acked", 1)
	c.took[how] = append(c.took[how], time.Since(began))
	s.next.awaitTotal(t, "has", c.plan.Writers)
	c.writer = s.next
}

// log logs how long failing over took.
func (c *chain) log(t *testing.T) {
	t.Helper()
	for how, took := range c.took {
		if n := len(took); n > 0 {
			slices.Sort(took)
			t.Logf("%d failovers %v: median %v, worst %v", n, relief(how), took[n/2], took[n-1])
		}
	}
}

// random returns a source of choices that the log of the test repeats.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	t.Logf("-failover.seed=%d", first)
	return rand.New(rand.NewPCG(first, 1))
}

// busy waits until the writer is at some moment of its work.
func (c *chain) busy(t *testing.T, r *rand.Rand) {
	t.Helper()
	c.writer.await(t, "acked", 1+r.IntN(60))
	<-time.After(time.Duration(r.IntN(5000)) * time.Microsecond) // between two lines
}

// Writers are killed at any moment, and standbys take over. What was acknowledged is there.
func TestKill_losesNothing(t *testing.T) {
	r := random(t)
	c := newChain(t, newServer(t))
	for round := range *rounds {
		s := c.prepare(t, relief(r.IntN(int(reliefs))))
		c.busy(t, r)
		killed := c.writer
		killed.kill(t)
		c.takeOver(t, s)
		if err := killed.lost(c.writer); err != nil || t.Failed() {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	c.writer.end(t)
	c.log(t)
	t.Logf("trust: %d kills of writers that ship to object storage", *rounds)
}

// A writer stops for a while at any moment, and wakes up after a standby has taken over. Whatever
// it has acknowledged, before or then, is in the database, and it ends with a clear error.
func TestFreeze_confirmsNothingAfterwards(t *testing.T) {
	r := random(t)
	c := newChain(t, newServer(t))
	for round := range *rounds {
		s := c.prepare(t, relief(r.IntN(int(reliefs))))
		c.busy(t, r)
		frozen := c.writer
		freeze(t, frozen.cmd.Process)
		c.takeOver(t, s)
		c.writer.await(t, "acked", r.IntN(20))
		thaw(t, frozen.cmd.Process)
		frozen.finish(t)
		if err := frozen.lost(c.writer); err != nil || frozen.fenced == "" || t.Failed() {
			t.Fatalf("round %d: %v, and the writer said: %s", round, err, frozen.fenced)
		}
		if round == 0 {
			t.Logf("a frozen writer wakes up: %s", frozen.fenced)
		}
	}
	c.writer.end(t)
	c.log(t)
	t.Logf("trust: %d writers frozen while a standby took over", *rounds)
}

// TestLost_noticesALoss tests the test: a writer that does not wait for the store loses what it has
// committed when it is killed.
func TestLost_noticesALoss(t *testing.T) {
	c := &chain{plan: plan{Address: newServer(t), Prefix: "db/", Writers: 2}, dirs: t.TempDir()}
	careless := c.in(0)
	careless.Async = true
	c.writer = start(t, careless)
	c.writer.awaitTotal(t, "acked", 20)
	s := c.prepare(t, byProcess)
	killed := c.writer
	killed.kill(t)
	c.takeOver(t, s)
	if killed.lost(c.writer) == nil {
		t.Error("what was never shipped is not missed")
	}
	c.writer.end(t)
	if c.writer.lost(c.writer) == nil {
		t.Error("a writer finds what it has committed since it was opened")
	}
}
