package replica

import (
	"cmp"
	"errors"
	"net"
	"strings"
)

// What peers are told is chosen here, and in reasonOf: errors may name files, records, addresses
// and what a database said, which are nobody's business but of who runs the replica.

// objection is the error of a program that does not let a peer, or entries, in.
type objection struct {
	what   error // errUnwelcome or ErrNotAdmitted
	reason error // as the program gave it
}

// Error implements error.
func (o *objection) Error() string { return o.what.Error() + ": " + o.reason.Error() }

// Unwrap returns what the program objects to, and its reason.
func (o *objection) Unwrap() []error { return []error{o.what, o.reason} }

// told returns what the peer is told of the reason: its text if it wraps no other error.
func (o *objection) told() string {
	switch o.reason.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }:
		return "ask whoever runs it"
	}
	return cmp.Or(o.reason.Error(), "ask whoever runs it")
}

// toldOf returns what the peer is told of why an entry, or a request, is not taken. What does not
// come from a program is about what the peer has sent.
func toldOf(err error) string {
	var o *objection
	var network *net.OpError
	switch {
	case errors.As(err, &o):
		return o.what.Error() + ": " + o.told()
	case errors.As(err, &network): // it has addresses
		return "the request did not arrive in whole"
	}
	return err.Error()
}

// told returns what the exporter is told of what was not taken.
func (in *intake) told() string {
	var all []string
	for _, err := range in.refused {
		all = append(all, toldOf(err))
	}
	return strings.Join(all, "\n")
}
