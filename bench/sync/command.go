package sync

import (
	"errors"
	"io"

	"github.com/stoatdb/stoat/bench/peer"
)

// The commands of a program.
const (
	doOpen   = "open"   // Dir, Sync, Invitation, ID → Nanoseconds: up to reading record ID, if ≥ 0
	doCommit = "commit" // File, From, To, Batch → Samples: nanoseconds a record of each transaction
	doSettle = "settle" // compacts the database, if that is a thing to ask for
	doPrune  = "prune"  // makes a checkpoint, and frees what it covers
	doServe  = "serve"  // → Address, Invitation
	doSync   = "sync"   // Address, Records → Nanoseconds: until the client has so many records
	doFollow = "follow" // Address: sync, and stay connected
	doAwait  = "await"  // ID, Count → At: when the record has that count, durably
	doPut    = "put"    // ID, Count → At: before it sets the count of the record; Durable: after it
	doChange = "change" // From, To, Count: sets the counts, each on a device of its own, if it can
	doExport = "export" // File: writes all that the replica has into it
	doImport = "import" // File → Nanoseconds: until the replica has it
	doIdle   = "idle"   // Address, Records: so many more connections that stay
	doDigest = "digest" // → Digest
	doMemory = "memory" // → Peak, Resident
	doClose  = "close"  // closes the database
)

// request is a line that a program reads. Which fields matter depends on the command.
type request struct {
	Do         string `json:"do"`
	Dir        string `json:"dir"`        // of the database
	Sync       bool   `json:"sync"`       // commits are durable when they return
	Invitation string `json:"invitation"` // what the server's program answered; empty founds anew
	Address    string `json:"address"`    // of a server
	File       string `json:"file"`       // of records
	From       int    `json:"from"`       // the first record
	To         int    `json:"to"`         // the record after the last
	Batch      int    `json:"batch"`      // records in a transaction
	Records    int    `json:"records"`
	ID         int64  `json:"id"`
	Count      int64  `json:"count"`
}

// answer is the line that a program writes for each that it reads.
type answer struct {
	Error       string    `json:"error,omitempty"`
	Unsupported string    `json:"unsupported,omitempty"` // why the program cannot do it
	Nanoseconds float64   `json:"nanoseconds,omitempty"`
	Samples     []float64 `json:"samples,omitempty"`
	Address     string    `json:"address,omitempty"`
	Invitation  string    `json:"invitation,omitempty"`
	At          float64   `json:"at,omitempty"`      // microseconds since 1970, by the machine's clock
	Durable     float64   `json:"durable,omitempty"` // the same
	Digest      digest    `json:"digest,omitzero"`
	Peak        float64   `json:"peak,omitempty"`     // bytes of resident memory, at most so far
	Resident    float64   `json:"resident,omitempty"` // bytes of resident memory now
}

// errUnsupported is the error for what a program cannot do, which is not a failure.
var errUnsupported = errors.New("not supported")

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
