package runner

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/bench/suite"
)

// Child is the main function of a child process: it reads one job, does it, and writes what it
// measures.
func Child(in io.Reader, out io.Writer, find func(name string) (suite.Suite, error)) error {
	var job suite.Job
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	s, err := find(job.Suite)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	var broken error
	record := func(engine string) suite.Record {
		return func(at suite.At, values ...float64) {
			if broken != nil || len(values) == 0 {
				return
			}
			broken = lines.Encode(suite.Measurement{
				Engine: engine, Round: job.Round, At: at, Values: values,
			})
		}
	}
	if len(job.Engines) > 0 {
		err = s.RunTogether(job, record)
	} else {
		err = s.Run(job, record(job.Engine))
	}
	if err == nil {
		err = broken
	}
	return err
}
