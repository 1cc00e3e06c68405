package ssb

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/stoatdb/stoat/bench/conformance"
	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

// The numbers of messages of the largest log of the suite growth, without -n. The other logs have a
// tenth and a hundredth of it.
const (
	growthQuick = 100_000
	growthFull  = 1_000_000
)

// lastShare is the share of a load whose appends are samples of grow_append, as a divisor.
const lastShare = 10

// Growth returns the suite that measures what a get, a step of a scan and an append cost when the
// log of the suite ssb has a hundredth, a tenth and all of a number of messages. Its tasks are
// named for these numbers; each loads its own database.
func Growth() suite.Suite {
	row := func(name, about string) suite.Row {
		return suite.Row{Name: name, Unit: suite.Nanoseconds, Axis: "messages", About: about}
	}
	return suite.Suite{
		Name:  "growth",
		About: "a get, a scan step and an append while the log grows",
		Rows: []suite.Row{
			row("grow_get", "one of 5,000 gets of random keys in one transaction, after settling"),
			row("grow_step", "one of 5,000 steps from a random key, looking at one byte of each value"),
			row("grow_append", "one of 5,000 messages in one transaction, in the last tenth of the load"),
		},
		Data:    []string{dataMessages, dataRandom},
		Engines: engine.Abouts,
		Tasks:   growthTasks,
		Run:     growthJob,
		Capped:  true,
	}
}

func growthTasks(s suite.Settings) []suite.Task {
	tasks := []suite.Task{{Name: taskConform, Rounds: 1, Gate: true}}
	for _, n := range growthSizes(s) {
		tasks = append(tasks, suite.Task{Name: strconv.Itoa(n), Rounds: s.Rounds})
	}
	return tasks
}

// growthSizes returns the numbers of messages, smallest first.
func growthSizes(s suite.Settings) (sizes []int) {
	most := growthFull
	if s.Profile == suite.Quick {
		most = growthQuick
	}
	most = cmp.Or(s.N, most)
	for _, part := range []int{100, 10, 1} {
		if n := most / part; n > 0 {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

func growthJob(job suite.Job, record suite.Record) error {
	e, err := engine.Find(job.Engine)
	if err != nil {
		return err
	}
	if job.Task == taskConform {
		return conformance.Check(e, job.Dir)
	}
	n, err := strconv.Atoi(job.Task)
	if err != nil {
		return fmt.Errorf("no task %q", job.Task)
	}
	g, err := newGenerator(cmp.Or(job.Data, dataMessages), job.Seed)
	if err != nil {
		return err
	}
	p := newPlan(job.Settings)
	p.messages, p.batch = n, min(p.batch, n)
	p.readTime = min(p.readTime, cappedReadTime)
	r := &run{job: job, plan: p, engine: e, out: record, generator: g}
	return r.grow()
}

// grow measures all rows with one number of messages.
func (r *run) grow() (err error) {
	if err := r.generate(); err != nil {
		return err
	}
	lift, err := r.capMemory()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lift()) }()
	if err := r.open("main"); err != nil {
		return err
	}
	appends, err := r.fill(func() error { return nil })
	if err != nil {
		return err
	}
	at := func(row string) suite.At { return suite.At{Row: row, X: float64(r.plan.messages)} }
	if r.job.Wants("grow_append") {
		last := appends[len(appends)-max(1, len(appends)/lastShare):]
		for i := range last {
			last[i] /= float64(r.plan.batch)
		}
		r.out(at("grow_append"), last...)
	}
	if err := r.settle(); err != nil {
		return err
	}
	for _, row := range []struct {
		name   string
		choose choice
	}{
		{"grow_get", r.getRandom},
		{"grow_step", func(random *rand.Rand) func() error {
			return r.steps(random, engine.TouchValues)
		}},
	} {
		if !r.job.Wants(row.name) {
			continue
		}
		samples, err := r.times(r.plan.batch, r.random(row.name, r.job.Task), row.choose)
		if err != nil {
			return fmt.Errorf("%s: %w", row.name, err)
		}
		r.out(at(row.name), samples...)
	}
	return r.store.Close()
}
