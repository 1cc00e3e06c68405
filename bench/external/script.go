package external

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// What a program can be told to do.
const (
	Open    = "open"    // the database, and make it if there is none
	Append  = "append"  // values under the next sequence numbers, a batch in each transaction
	Get     = "get"     // values of sequence numbers, a batch in each read transaction
	Iterate = "iterate" // from the key of a sequence number over a batch of pairs
	Idle    = "idle"    // for so many milliseconds
	Close   = "close"   // the database, so that everything is durable
	Opens   = "opens"   // open and close the closed database, so many times
	Digest  = "digest"  // say what is in the database
)

// Script is what one process of a program does, and what its answers must be.
type Script struct {
	Steps []Step
	// Finish, unless nil, measures what the process has left behind.
	Finish func(record suite.Record) error
}

// Step is one thing to do. What has no name in JSON is not told to the program.
type Step struct {
	Do      string `json:"do"`
	Count   int    `json:"count,omitempty"`
	Batch   int    `json:"batch,omitempty"`   // of what is counted, in each sample
	Values  string `json:"values,omitempty"`  // path of a file that [WriteValues] made
	Numbers string `json:"numbers,omitempty"` // path of a file that [WriteNumbers] made
	Millis  int64  `json:"millis,omitempty"`

	At     suite.At `json:"-"` // what its samples are of; they are dropped if this is empty
	Bytes  int64    `json:"-"` // sum of the lengths of the values that Get and Iterate must find
	SHA256 string   `json:"-"` // what Digest must find, in Count pairs
}

// samples returns how many samples the answer to a step must have. A last batch that is not full
// does not compare with the others, and gives none.
func (s Step) samples() int {
	if s.Batch == 0 {
		return 0
	}
	return s.Count / s.Batch
}

// reads reports whether the answer to a step must say how many bytes were read.
func (s Step) reads() bool { return s.Do == Get || s.Do == Iterate }

// order is what a program is told: one script of a job.
type order struct {
	Protocol int    `json:"protocol"`
	Suite    string `json:"suite"`
	Task     string `json:"task"`
	Engine   string `json:"engine"`
	Round    int    `json:"round"`
	Dir      string `json:"dir"`
	Sync     bool   `json:"sync"`
	Order    string `json:"order"`
	Seed     uint64 `json:"seed"`
	Steps    []Step `json:"steps"`
}

func newOrder(job suite.Job, s Script) order {
	told := make([]Step, len(s.Steps))
	copy(told, s.Steps)
	for i := range told {
		if told[i].Do == Digest {
			told[i].Count = 0 // this is for the program to say
		}
	}
	return order{
		Protocol: protocol, Suite: job.Suite, Task: job.Task, Engine: job.Engine, Round: job.Round,
		Dir: Database(job), Sync: job.Sync, Order: string(job.Order), Seed: job.Seed, Steps: told,
	}
}

// describe names a step of a script.
func describe(steps []Step, i int) string { return fmt.Sprintf("step %d (%s)", i, steps[i].Do) }
