package sync

import (
	"fmt"
	"os"

	"github.com/stoatdb/stoat/bench/engine"
)

// system is a system that replicates records, in one setting.
type system struct {
	engine.About
	command []string // of its programs
	most    int      // records of its largest first sync; 0: any number
	local   bool     // it does not replicate: it is there to compare commits with
}

// ProgramArgument is the argument that makes the benchmark a program with one replica. The other
// argument is the name of a system.
const ProgramArgument = "replica"

// The names of our systems.
const (
	signed  = "stoat"
	trusted = "stoat-trusted"
	plain   = "stoat-plain"
)

// systems returns every system, in the order of the tables.
func systems() []system {
	const module = "github.com/stoatdb/stoat"
	all := []system{
		{About: engine.About{Name: signed, Module: module,
			Settings: "package replica, a collection with two indexes, signed"}},
		{About: engine.About{Name: trusted, Module: module,
			Settings: "the same in a trusted space: no signatures, no rights"}},
		{About: engine.About{Name: plain, Module: module,
			Settings: "package record without package replica; commits only"}, local: true},
	}
	for _, p := range nodePeers() {
		all = append(all, p.system())
	}
	return all
}

// abouts returns the descriptions of all systems.
func abouts() []engine.About {
	var all []engine.About
	for _, s := range systems() {
		all = append(all, s.About)
	}
	return all
}

// find returns the system with the name, if it can run here.
func find(name string) (system, error) {
	for _, s := range systems() {
		switch {
		case s.Name != name:
		case s.Missing != "":
			return s, fmt.Errorf("engine %s: %s", name, s.Missing)
		default:
			return s, nil
		}
	}
	return system{}, fmt.Errorf("no engine %q", name)
}

// start starts a program of the system.
func (s system) start() (*program, error) {
	if s.command != nil {
		return start(s.command)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start([]string{self, ProgramArgument, s.Name})
}
