package history

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// judge is a store that knows the truth: what counts in the log, whatever is deleted later.
type judge struct {
	*memstore.Store
	codec  *object.Codec
	truth  *object.State
	states map[uint64][]byte // the state after each number
	counts map[object.ID]bool
	made   map[string]int // how often an object of each name was created
	stops  uint64         // the newest epoch that a barrier was to stop
	stuck  error
}

func newJudge(t testing.TB) *judge {
	t.Helper()
	codec, err := object.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	return &judge{
		Store: memstore.New(), codec: codec, truth: Start([16]byte{1}), states: map[uint64][]byte{},
		counts: map[object.ID]bool{}, made: map[string]int{},
	}
}

func (j *judge) Create(ctx context.Context, name string, body []byte) error {
	err := j.Store.Create(ctx, name, body)
	if err == nil {
		j.made[name]++
		if o, err := j.codec.DecodeLog(name, body); err == nil && o.Barrier {
			j.stops = max(j.stops, o.Epoch)
		}
		j.look(ctx)
	}
	return err
}

// look brings the truth up to date.
func (j *judge) look(ctx context.Context) {
	log := &Log{Store: j.Store, Codec: j.codec, Database: [16]byte{1}}
	for {
		next, _, err := log.advance(ctx, j.truth)
		if errors.Is(err, errStray) {
			next, err = Skip(j.truth), nil // this has read everything when it was made
		}
		if errors.Is(err, objstore.ErrNotExist) {
			return
		}
		if err != nil {
			j.stuck = fmt.Errorf("number %d is taken by an object that nobody can accept: %w",
				j.truth.Number+1, err)
			return
		}
		j.truth = next
		j.counts[next.ID] = true
		j.states[next.Number] = j.encode(next)
	}
}

// encode returns what a state amounts to, which void objects at its end do not change.
func (j *judge) encode(s *object.State) []byte {
	stored := *s
	for n := len(stored.Void); n > 0 && stored.Void[n-1] == stored.Number; n-- {
		stored.Void, stored.Number = stored.Void[:n-1], stored.Number-1
	}
	stored.Previous = object.ID{}
	p, err := j.codec.EncodeState(&stored)
	if err != nil {
		j.stuck = err
	}
	return p
}

// agrees returns an error unless a process is right about the log.
func (j *judge) agrees(what string, s *object.State) error {
	if s.Number > 0 && !bytes.Equal(j.encode(s), j.states[s.Number]) {
		return fmt.Errorf("%s at %d (id %x) does not count", what, s.Number, s.ID[:8])
	}
	return nil
}

// wasRight is agrees for a follower, which takes a late object for void where the one that counts
// was deleted. Its state is the one before, then, and the next object leads to a newer one.
func (j *judge) wasRight(what string, s *object.State) error {
	at := *s
	for n := len(at.Void); n > 0 && at.Void[n-1] == at.Number; n-- {
		if j.made[logName(at.Number)] < 2 {
			break
		}
		at.Void, at.Number = at.Void[:n-1], at.Number-1
	}
	return j.agrees(what, &at)
}

// process is a goroutine that runs only while the simulation waits for it: from one of its requests
// to the next.
type process struct {
	name   string
	client *faultstore.Client
	resume chan faultstore.Fate
	paused chan bool // false: it has ended
	dead   bool      // crashed, or ended
	cut    bool      // its client has crashed
}

// sim is a simulation: processes whose requests happen in random order, each with a random fate.
type sim struct {
	rng       *rand.Rand
	judge     *judge
	server    *faultstore.Server
	processes []*process
	ids       uint64
	clock     uint64
	failure   error
	points    int // crashes, stalls and faults
	acks      int
	trouble   bool // requests may fail, and processes crash
	copying   bool // running writers are copied, and nothing is deleted
}

func newSim(t testing.TB, seed uint64) *sim {
	t.Helper()
	j := newJudge(t)
	return &sim{
		rng: rand.New(rand.NewPCG(seed, 1)), judge: j, server: faultstore.NewServer(j), trouble: true,
		copying: seed%5 == 0,
	}
}

func (s *sim) fail(err error) {
	if err != nil && s.failure == nil {
		s.failure = err
	}
}

// start adds a process that runs a script.
func (s *sim) start(ctx context.Context, name string, script func(context.Context, *Log) error) {
	p := &process{name: name, resume: make(chan faultstore.Fate), paused: make(chan bool)}
	p.client = s.server.Client(func(faultstore.Request) faultstore.Fate {
		p.paused <- true
		return <-p.resume
	})
	log := &Log{
		Store: p.client, Codec: s.judge.codec, Database: [16]byte{1}, Parallel: 1,
		NewID: func() (id object.ID) {
			s.ids++
			binary.BigEndian.PutUint64(id[:], s.ids)
			return id
		},
		Now: func() uint64 {
			s.clock++
			return s.clock + s.rng.Uint64N(50) // clocks differ
		},
		Pause: func(_ context.Context, tries int) error {
			if p.cut || s.trouble && s.rng.IntN(4) == 0 {
				return context.DeadlineExceeded
			}
			return nil
		},
	}
	s.processes = append(s.processes, p)
	go func() {
		<-p.resume
		if err := script(ctx, log); err != nil {
			s.fail(fmt.Errorf("%s: %w", name, err))
		}
		p.paused <- false
	}()
	s.run(p, faultstore.Answered)
}

// run lets a process go on to its next request.
func (s *sim) run(p *process, fate faultstore.Fate) {
	p.resume <- fate
	if alive := <-p.paused; !alive {
		p.dead = true
	}
}

// step lets one thing happen.
func (s *sim) step(ctx context.Context) (more bool) {
	if n := s.server.UnderWay(); n > 0 && s.rng.IntN(8) == 0 {
		s.points++
		s.fail(s.server.Deliver(s.rng.IntN(n)))
		return true
	}
	var alive []*process
	for _, p := range s.processes {
		if !p.dead {
			alive = append(alive, p)
		}
	}
	if len(alive) == 0 {
		return false
	}
	p := alive[s.rng.IntN(len(alive))]
	fate := faultstore.Answered
	if s.trouble && s.rng.IntN(6) == 0 {
		s.points++
		fate = faultstore.Fate(s.rng.IntN(int(faultstore.Late) + 1))
		if s.rng.IntN(10) == 0 {
			p.cut = true
			p.client.Crash()
		}
	}
	s.run(p, fate)
	return true
}

// How many simulations to run, and which one to repeat.
var (
	runs     = flag.Int("sim.runs", 1000, "how many simulations")
	seedFlag = flag.Uint64("sim.seed", 0, "the first seed; 0: random")
)

func TestSim_keepsTheRules(t *testing.T) {
	first := *seedFlag
	if first == 0 {
		first = rand.Uint64()
	}
	runSims(t, first, *runs)
}

// runSims runs simulations with consecutive seeds.
func runSims(t *testing.T, first uint64, n int) {
	t.Helper()
	points, acks, voids, numbers := 0, 0, 0, uint64(0)
	for seed := first; seed < first+uint64(n); seed++ {
		s := newSim(t, seed)
		s.all(t.Context())
		if s.failure != nil {
			t.Fatalf("%v (repeat with -sim.seed %d -sim.runs 1)", s.failure, seed)
		}
		points, acks, numbers = points+s.points, acks+s.acks, numbers+s.judge.truth.Number
		voids += len(s.judge.truth.Void)
	}
	t.Logf("from seed %d on: %d numbers, %d void, %d acked", first, numbers, voids, acks)
	t.Logf("trust: %d crashes, faults and late effects in simulated logs", points)
}

// all runs writers and followers, which are replaced when they end, and then reads the log.
func (s *sim) all(ctx context.Context) {
	for i := range 10 {
		s.start(ctx, fmt.Sprintf("writer %d", i), s.write)
		if i%2 == 0 {
			s.start(ctx, fmt.Sprintf("follower %d", i), s.follow)
		}
		for range s.rng.IntN(60) {
			if !s.step(ctx) || s.failure != nil {
				break
			}
		}
	}
	s.trouble = false
	for s.failure == nil && s.step(ctx) {
	}
	for s.failure == nil && s.server.UnderWay() > 0 {
		s.fail(s.server.Deliver(0))
	}
	s.fail(s.judge.stuck)
	if s.failure == nil {
		s.start(ctx, "the last writer", s.takeOver)
		for s.failure == nil && s.step(ctx) {
		}
	}
}
