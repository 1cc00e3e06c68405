package remote

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// run is a job in progress.
type run struct {
	job    suite.Job
	plan   plan
	system system
	out    suite.Record

	running []program // those that end must end
	proxies []*proxy
	folders int
}

// end ends what is left.
func (r *run) end() {
	for _, p := range r.running {
		p.Kill()
	}
	for _, p := range r.proxies {
		_ = p.close()
	}
}

// start starts a program of the system.
func (r *run) start() (program, error) {
	p, err := r.system.start()
	if err == nil {
		r.running = append(r.running, p)
	}
	return p, err
}

// serve starts an empty server with a proxy in front of it.
func (r *run) serve() (*proxy, error) {
	s, err := self(ServerArgument)
	if err != nil {
		return nil, err
	}
	r.running = append(r.running, s)
	a, err := s.call(request{})
	if err != nil {
		return nil, err
	}
	p, err := newProxy(a.Address, r.job.Seed)
	if err == nil {
		r.proxies = append(r.proxies, p)
	}
	return p, err
}

// folder returns the name of a folder that does not exist.
func (r *run) folder() string {
	r.folders++
	return filepath.Join(r.job.Dir, fmt.Sprint("database-", r.folders))
}

// opened starts a program and opens a database through a proxy.
func (r *run) opened(mode, dir string, p *proxy) (program, answer, error) {
	started, err := r.start()
	if err != nil {
		return program{}, answer{}, err
	}
	a, err := started.call(r.request(doOpen, mode, dir, p))
	return started, a, err
}

func (r *run) request(do, mode, dir string, p *proxy) request {
	q := request{Do: do, Mode: mode, Dir: dir, Bucket: bucket}
	if p != nil {
		q.Address = p.address()
	}
	if mode == modeRead {
		q.Cache = 256 << 20
	}
	return q
}

// close closes a program's database and ends it.
func (r *run) close(p program) (answer, error) {
	a, err := p.call(request{Do: doClose})
	if err != nil {
		return a, err
	}
	r.running = slices.DeleteFunc(r.running, func(o program) bool { return o == p })
	return a, p.End()
}

// load puts a database of n records in the store behind a proxy, without delays, and closes it once
// its work in the background has ended.
func (r *run) load(p *proxy, n uint64) error {
	dir := r.folder()
	loading := request{Do: doLoad, To: n}
	local, _, err := r.opened(modeLocal, dir, nil)
	isLocal := err == nil
	if isLocal {
		err = local.calls(loading, request{Do: doSettle, Milliseconds: r.plan.quiet})
		if err == nil {
			_, err = r.close(local)
		}
	}
	if supported(err) != nil {
		return err
	}
	shipping, _, err := r.opened(modeAsync, dir, p)
	if err == nil && !isLocal {
		_, err = shipping.call(loading)
	}
	if err == nil {
		_, err = shipping.call(request{Do: doShip})
	}
	if err != nil {
		return err
	}
	p.settle(time.Duration(r.plan.quiet) * time.Millisecond)
	_, err = r.close(shipping)
	return err
}

// ids returns numbers of random records of n.
func (r *run) ids(random *rand.Rand, count int, n uint64) []uint64 {
	ids := make([]uint64, count)
	for i := range ids {
		ids[i] = random.Uint64N(n)
	}
	return ids
}

// random returns the source of a job's random choices.
func (r *run) random() *rand.Rand { return rand.New(rand.NewPCG(r.job.Seed, 2)) }

// record records samples of a row if it is wanted.
func (r *run) record(at suite.At, values ...float64) {
	if r.job.Wants(at.Row) && len(values) > 0 {
		r.out(at, values...)
	}
}

// p99 returns the value that one in a hundred samples exceeds.
func p99(samples []float64) float64 { return report.Quantile(samples, 0.99) }
