// Package runner runs suites: every engine in every round in a fresh child process, one at a time,
// with the engines taking turns within a round.
//
// The child is the same program, started with one argument. It reads its job as JSON from standard
// input and writes each measurement as a line of JSON to standard output as soon as it has it. If a
// child dies or hangs, the failure is noted, its measurements are kept, and the run continues.
//
// An engine may be an external program, which then takes the child's place.
package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/external"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/process"
	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
	"github.com/stoatdb/stoat/bench/tail"
)

// ChildArgument is the argument that makes the program a child.
const ChildArgument = "child"

// Runner runs the children.
type Runner struct {
	Suite    suite.Suite
	Engines  []engine.About
	Settings suite.Settings
	Dir      string        // where the databases are created: on the storage to measure
	Timeout  time.Duration // after which a child is considered hung
	Progress io.Writer

	External map[string]external.Program // the engines that are external programs, by name
	Plan     external.Plan               // what they do in this suite
	Note     func(text string)           // is told what was not measured, and why; may be nil
	Added    func()                      // is called when the result has grown; may be nil

	erase func(dir string) error // removes the folder of a job; nil is os.RemoveAll
}

// Run adds measurements to the result. If ctx is done, it stops the child and returns the context's
// error.
func (r *Runner) Run(ctx context.Context, result *report.Result) error {
	engines := slices.Clone(r.Engines)
	for round := 1; round <= r.Settings.Rounds; round++ {
		for _, task := range r.Suite.Tasks(r.Settings) {
			if round > task.Rounds {
				continue
			}
			var failed []string
			for _, job := range r.jobs(task, round, engines) {
				done, err := r.turn(ctx, job, task.Then, result)
				if err != nil {
					return err
				}
				if r.Added != nil {
					r.Added()
				}
				if task.Gate && !done {
					failed = append(failed, job.Engine)
				}
			}
			engines = slices.DeleteFunc(engines, func(e engine.About) bool {
				return slices.Contains(failed, e.Name)
			})
		}
	}
	return nil
}

// jobs returns the jobs of a task in one round: one for each engine or, if the task takes the
// engines together, one for all that are not external programs.
func (r *Runner) jobs(task suite.Task, round int, engines []engine.About) (jobs []suite.Job) {
	job := suite.Job{
		Settings: r.Settings,
		Suite:    r.Suite.Name,
		Task:     task.Name,
		Round:    round,
	}
	for _, e := range engines {
		_, external := r.External[e.Name]
		switch {
		case !task.Together:
			job.Engine = e.Name
			jobs = append(jobs, job)
		case external:
			r.note(fmt.Sprintf("%s takes no turns with other engines in suite %s: it is a program of its"+
				" own.", e.Name, job.Suite))
		default:
			job.Engines = append(job.Engines, e.Name)
		}
	}
	if len(job.Engines) > 0 {
		job.Engine = suite.AllEngines
		jobs = append(jobs, job)
	}
	return jobs
}

func (r *Runner) note(text string) {
	if r.Note != nil {
		r.Note(text)
	}
}

// turn does one job and the job that follows it, if any. It adds the outcome to the result, and
// reports whether everything finished. It returns only errors that end the run.
func (r *Runner) turn(
	ctx context.Context, job suite.Job, then string, result *report.Result,
) (done bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	job.Dir, err = os.MkdirTemp(r.Dir, "stoat-bench-")
	if err != nil {
		return false, err
	}
	defer r.remove(job.Dir)
	machine.SyncDisks()
	fmt.Fprintf(r.Progress, "round %d of %d  %-10s %-19s %-13s",
		job.Round, job.Rounds, job.Suite, job.Task, job.Engine)
	start := time.Now()
	measurements, err := r.doBoth(ctx, job, then)
	result.Measurements = append(result.Measurements, measurements...)
	fmt.Fprintf(r.Progress, " %6.1fs", time.Since(start).Seconds())
	var unsupported *external.Unsupported
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(r.Progress, "  interrupted")
		return false, ctx.Err()
	case errors.As(err, &unsupported):
		fmt.Fprintln(r.Progress, "  not supported")
		r.note(fmt.Sprintf("%s is not measured in suite %s, %s: %s",
			job.Engine, job.Suite, job.Task, unsupported.Reason))
	case err != nil:
		fmt.Fprintln(r.Progress, "  failed")
		result.Failures = append(result.Failures, report.Failure{
			Engine: job.Engine, Task: job.Task, Round: job.Round, Error: err.Error(),
		})
	default:
		fmt.Fprintln(r.Progress)
		done = true
	}
	return done, nil
}

// remove removes the folder of a job. If it cannot, the next jobs use other folders.
func (r *Runner) remove(dir string) {
	erase := r.erase
	if erase == nil {
		erase = os.RemoveAll
	}
	if err := erase(dir); err != nil {
		r.note(fmt.Sprintf("The databases in %s were not removed: %v", dir, err))
	}
}

// doBoth does one job and, unless it fails, the job that follows it.
func (r *Runner) doBoth(
	ctx context.Context, job suite.Job, then string,
) ([]suite.Measurement, error) {
	measurements, err := r.do(ctx, job)
	if err != nil || then == "" {
		return measurements, err
	}
	job.Task = then
	more, err := r.do(ctx, job)
	return append(measurements, more...), err
}

// do does one job in its own process, an external program or a child. It returns what that
// measured, even if it failed in the end.
func (r *Runner) do(ctx context.Context, job suite.Job) ([]suite.Measurement, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if program, ok := r.External[job.Engine]; ok {
		return program.Turn(ctx, r.Plan, job)
	}
	return r.child(ctx, job)
}

// child runs one child process and returns what it measured.
func (r *Runner) child(ctx context.Context, job suite.Job) ([]suite.Measurement, error) {
	input, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var output bytes.Buffer
	var complaints tail.Writer
	cmd := exec.CommandContext(ctx, self, ChildArgument)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &output, &complaints
	cmd.WaitDelay = 10 * time.Second
	failure := process.Run(cmd)
	if cmd.Process != nil {
		if err := machine.RemoveCap(cmd.Process.Pid); err != nil {
			r.note(fmt.Sprintf("The memory cap of a child was not removed: %v", err))
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		failure = fmt.Errorf("did not finish within %v", r.Timeout)
	} else if failure != nil {
		failure = fmt.Errorf("%w: %s", failure, complaints.String())
	}
	measurements, err := decode(&output)
	return measurements, errors.Join(failure, err)
}

// decode reads measurements up to the end, or to a line that the child did not finish.
func decode(from io.Reader) (measurements []suite.Measurement, err error) {
	lines := json.NewDecoder(from)
	for {
		var m suite.Measurement
		err := lines.Decode(&m)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return measurements, nil
		}
		if err != nil {
			return measurements, fmt.Errorf("read the child's answer: %w", err)
		}
		measurements = append(measurements, m)
	}
}
