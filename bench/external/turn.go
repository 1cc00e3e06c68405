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
	"github.com/stoatdb/stoat/bench/suite"
	"github.com/stoatdb/stoat/bench/tail"
)

// Turn lets the program do one job, and returns what was measured, even if it fails in the end. The
// job's folder exists and is empty. A nil plan is that of a suite for which no program can do
// anything. The error is an [*Unsupported] if the job is beyond the program.
func (p Program) Turn(
	ctx context.Context, plan Plan, job suite.Job,
) (measurements []suite.Measurement, err error) {
	if plan == nil {
		return nil, &Unsupported{p.Name, "suite " + job.Suite + " has nothing for programs to do"}
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

// perform lets one process perform one script.
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
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("engine %s cannot be started: %w", p.Name, err)
	}
	failure := cmd.Wait()
	elapsed := time.Since(start).Round(time.Second / 10)
	nonsense := output.finish()
	switch {
	case output.err != nil:
		err = output.err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("no end after %v, %s", elapsed, output.where())
	case ctx.Err() != nil:
		return ctx.Err()
	case failure != nil:
		err = fmt.Errorf("%w, %s", failure, output.where())
	case output.unsupported != "":
		return &Unsupported{p.Name, output.unsupported}
	default:
		err = nonsense
	}
	if err == nil {
		return nil
	}
	if said := complaints.String(); said != "" {
		return fmt.Errorf("engine %s: %w; it complained: %s", p.Name, err, said)
	}
	return fmt.Errorf("engine %s: %w", p.Name, err)
}

// where says how far the answers go.
func (a *answers) where() string {
	if a.next == len(a.steps) {
		return "after its last answer"
	}
	return "in " + describe(a.steps, a.next)
}
