package remote

import (
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/bench/peer"
)

// The commands of a program.
const (
	doOpen     = "open"     // Mode, Dir, Address, Bucket, Cache → Nanoseconds
	doCommit   = "commit"   // Writers, Milliseconds, Microseconds, From → Samples, At, Records
	doLoad     = "load"     // From, To: stores records, in large transactions
	doShip     = "ship"     // returns when the store has everything
	doGet      = "get"      // IDs → Samples: gets the records one after the other, and compares them
	doScan     = "scan"     // → Nanoseconds, Bytes, Records: reads everything
	doRestore  = "restore"  // Dir, Address, Bucket → Nanoseconds, Peak
	doSettle   = "settle"   // returns when work in the background has ended, or after a minute
	doTakeOver = "takeover" // Dir: the reader becomes the writer → Nanoseconds
	doClose    = "close"    // closes the database → CPU: of the program and its own, since doOpen
)

// The modes of an open database.
const (
	modeLocal = "local" // without a store
	modeAsync = "async" // a commit returns once it is durable in the folder
	modeWait  = "wait"  // a commit returns once it is durable in the store
	modeRead  = "read"  // of another process's database, in the store
)

// request is a line that a program reads. Which fields matter depends on the command.
type request struct {
	Do           string   `json:"do"`
	Mode         string   `json:"mode,omitempty"`
	Dir          string   `json:"dir,omitempty"`
	Address      string   `json:"address,omitempty"` // of the server
	Bucket       string   `json:"bucket,omitempty"`
	Cache        int64    `json:"cache,omitempty"`        // bytes; 0: as the system likes
	Writers      int      `json:"writers,omitempty"`      // that commit at a time
	Milliseconds int      `json:"milliseconds,omitempty"` // of committing, or of quiet
	Microseconds int      `json:"microseconds,omitempty"` // from one commit to the next
	From         uint64   `json:"from,omitempty"`         // the first record
	To           uint64   `json:"to,omitempty"`           // the record after the last
	IDs          []uint64 `json:"ids,omitempty"`
}

// answer is the line that a program writes for each that it reads.
type answer struct {
	Error       string    `json:"error,omitempty"`
	Unsupported string    `json:"unsupported,omitempty"` // what the program cannot do
	Nanoseconds float64   `json:"nanoseconds,omitempty"`
	Samples     []float64 `json:"samples,omitempty"` // nanoseconds of each transaction
	At          []float64 `json:"at,omitempty"`      // when each returned, in microseconds since 1970
	Bytes       float64   `json:"bytes,omitempty"`   // of keys and values
	Records     uint64    `json:"records,omitempty"`
	Address     string    `json:"address,omitempty"` // of a server
	Peak        float64   `json:"peak,omitempty"`    // bytes of resident memory, at most so far
	CPU         float64   `json:"cpu,omitempty"`     // nanoseconds
}

// errUnsupported is the error for what a program cannot do, which is not a failure.
var errUnsupported = errors.New("not supported")

// supported turns the error for what a system cannot do into none.
func supported(err error) error {
	if errors.Is(err, errUnsupported) {
		return nil
	}
	return err
}

// answerAll reads requests and answers them until there are no more.
func answerAll(in io.Reader, out io.Writer, do func(*request) (answer, error)) error {
	return peer.Serve(in, out, func(r *request) answer {
		a, err := do(r)
		switch {
		case errors.Is(err, errUnsupported):
			a.Unsupported = r.Do
		case err != nil:
			a.Error = err.Error()
		}
		return a
	})
}

// program is a running program with a database of a system.
type program struct{ *peer.Program[request, answer] }

// call sends a request and returns the answer.
func (p program) call(r request) (a answer, err error) {
	err = p.Send(r)
	if err == nil {
		a, err = p.Receive()
	}
	switch {
	case err != nil:
	case a.Unsupported != "":
		err = errUnsupported
	case a.Error != "":
		err = errors.New(a.Error)
	}
	if err != nil {
		return a, fmt.Errorf("%s %s: %w", r.Do, r.Mode, err)
	}
	return a, nil
}

// calls sends requests, whose answers do not matter, up to the first error.
func (p program) calls(requests ...request) error {
	for _, q := range requests {
		if _, err := p.call(q); err != nil {
			return err
		}
	}
	return nil
}
