package remote

import (
	"fmt"
	"os"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/peer"
)

// system is a database whose data are in a store of objects, in one setting.
type system struct {
	engine.About
	client  func() *client // our program; nil if it is another
	command []string       // of its own program
	log     string         // a part of the paths of just the objects of its log
	reads   bool           // it reads from the store what it needs, without a copy
}

// systems returns every system, in the order of the tables.
func systems() []system {
	all := []system{
		{
			About: engine.About{Name: "stoat", Module: "github.com/stoatdb/stoat",
				Settings: "package remote; durability Async or Wait, as the row says"},
			client: stoatClient, log: "/log/", reads: true,
		},
		{
			About: engine.About{Name: "slatedb", Version: slateVersion,
				Settings: "feature aws; where a row says so, a block cache of 256 MiB"},
			log: "/wal/", reads: true,
		},
		{
			About: engine.About{Name: "litestream", Version: litestreamVersion + ", SQLite " +
				engine.SQLiteVersion(),
				Settings: "SQLite with journal_mode WAL, synchronous FULL; asynchronous only"},
			client: sqliteClient, log: "/0000/",
		},
	}
	slate, litestream := &all[1], &all[2]
	program, err := slateProgram()
	if err != nil {
		slate.Missing = err.Error()
	}
	slate.command = []string{program}
	if _, err := litestreamProgram(); err != nil {
		litestream.Missing = err.Error()
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
func (s system) start() (program, error) {
	if s.client == nil {
		p, err := peer.Start[request, answer](s.command)
		return program{p}, err
	}
	return self(ProgramArgument, s.Name)
}

// self starts the benchmark once more.
func self(arguments ...string) (program, error) {
	name, err := os.Executable()
	if err != nil {
		return program{}, err
	}
	p, err := peer.Start[request, answer](append([]string{name}, arguments...))
	return program{p}, err
}
