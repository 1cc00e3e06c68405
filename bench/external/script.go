package external

import (
	"fmt"

	"github.com/stoatdb/stoat/bench/suite"
)

// The steps that a program can be told to do.
const (
	Open    = "open"    // the database; create it if necessary
	Append  = "append"  // values under the next sequence numbers, a batch in each transaction
	Get     = "get"     // values by sequence number, a batch in each read transaction
	Iterate = "iterate" // from the key of a sequence number over a batch of pairs
	Idle    = "idle"    // for a number of milliseconds
	Close   = "close"   // the database; everything must be durable
	Opens   = "opens"   // open and close the closed database, Count times
	Digest  = "digest"  // return the digest of the database's contents
)

// Script is what one process of a program does, and what it must answer.
type Script struct {
	Steps []Step
	// Finish measures what the process has left behind; it may be nil.
	Finish func(record suite.Record) error
}

// Step is one thing to do. The program does not see fields without a name in JSON.
type Step struct {
	Do      string `json:"do"`
	Count   int    `json:"count,omitempty"`
	Batch   int    `json:"batch,omitempty"`   // number of operations in each sample
	Values  string `json:"values,omitempty"`  // path of a file made by [WriteValues]
	Numbers string `json:"numbers,omitempty"` // path of a file made by [WriteNumbers]
	Millis  int64  `json:"millis,omitempty"`

	At     suite.At `json:"-"` // where its samples belong; they are dropped if it is empty
	Bytes  int64    `json:"-"` // expected total length of the values of Get and Iterate
	SHA256 string   `json:"-"` // expected result of Digest, over Count pairs
}

// samples returns the number of samples in the answer to a step. A partial last batch is not
// comparable and gives no sample.
func (s Step) samples() int {
	if s.Batch == 0 {
		return 0
	}
	return s.Count / s.Batch
}

// reads reports whether the answer to a step must include the number of bytes read.
func (s Step) reads() bool { return s.Do == Get || s.Do == Iterate }

// order is what a program receives: one script of a job.
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
			told[i].Count = 0 // the program must find out
		}
	}
	return order{
		Protocol: protocol, Suite: job.Suite, Task: job.Task, Engine: job.Engine, Round: job.Round,
		Dir: Database(job), Sync: job.Sync, Order: string(job.Order), Seed: job.Seed, Steps: told,
	}
}

// describe names a step of a script.
func describe(steps []Step, i int) string { return fmt.Sprintf("step %d (%s)", i, steps[i].Do) }
