package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/process"
	"github.com/stoatdb/stoat/bench/suite"
	"github.com/stoatdb/stoat/bench/tail"
)

// Turn lets the program do one job, and returns what was measured, even if it failed in the end.
// The job's folder must exist and be empty. A nil plan belongs to a suite without work for external
// programs. The error is an [*Unsupported] if the program cannot do the job.
func (p Program) Turn(
	ctx context.Context, plan Plan, job suite.Job,
) (measurements []suite.Measurement, err error) {
	if plan == nil {
		return nil, &Unsupported{p.Name, "suite " + job.Suite + " has no work for external programs"}
	}
	scripts, err := prepare(plan, job)
	if err != nil {
		return nil, fmt.Errorf("prepare the job of engine %s: %w", p.Name, err)
	}
	record := func(at suite.At, values ...float64) {
		measurements = append(measurements, suite.Measurement{
			Engine: job.Engine, Round: job.Round, At: at, Values: values,
		})
	}
	for _, script := range scripts {
		machine.SyncDisks()
		if err := p.perform(ctx, job, script, record); err != nil {
			return measurements, err
		}
		if script.Finish == nil {
			continue
		}
		if err := script.Finish(record); err != nil {
			return measurements, err
		}
	}
	return measurements, nil
}

// perform runs one script in one process.
func (p Program) perform(
	ctx context.Context, job suite.Job, script Script, record suite.Record,
) error {
	input, err := json.Marshal(newOrder(job, script))
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	output := answers{steps: script.Steps, record: record, stop: stop}
	var complaints tail.Writer
	cmd := exec.CommandContext(running, p.Command[0], p.Command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(input, '\n')), &output, &complaints
	cmd.WaitDelay = time.Second
	start := time.Now()
	failure := process.Run(cmd)
	if cmd.Process == nil {
		return fmt.Errorf("engine %s cannot be started: %w", p.Name, failure)
	}
	err = output.verdict(ctx, failure, time.Since(start))
	interrupted := errors.Is(ctx.Err(), context.Canceled) && output.err == nil
	switch said := complaints.String(); {
	case interrupted:
		return ctx.Err()
	case err == nil && output.unsupported != "":
		return &Unsupported{p.Name, output.unsupported}
	case err == nil:
		return nil
	case said == "":
		return fmt.Errorf("engine %s: %w", p.Name, err)
	default:
		return fmt.Errorf("engine %s: %w; it printed: %s", p.Name, err, said)
	}
}

// verdict returns what is wrong with a process that has ended: its answers, that it had to be
// stopped, or its own failure.
func (a *answers) verdict(ctx context.Context, failure error, elapsed time.Duration) error {
	nonsense := a.finish()
	switch {
	case a.err != nil:
		return a.err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("did not finish within %v, %s", elapsed.Round(time.Second/10), a.where())
	case failure != nil:
		return fmt.Errorf("%w, %s", failure, a.where())
	}
	return nonsense
}

// where says how far the answers go.
func (a *answers) where() string {
	if a.next == len(a.steps) {
		return "after its last answer"
	}
	return "in " + describe(a.steps, a.next)
}
