// Command bench compares Stoat with other embedded databases.
//
//	go run . [flags]           run suites, print tables, and write a report
//	go run . list              list the engines with their versions and settings
//	go run . report FILE       print the tables of a results.json; -h for other forms
//	go run . compare OLD NEW   print what changed between two results.json
//	go run . advise FILE       advise on how to store your own records
//	go run . install           get the peers that are programs in other languages
//
// README.md says what is measured, and how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/stoatdb/stoat/bench/advise"
	"github.com/stoatdb/stoat/bench/compare"
	"github.com/stoatdb/stoat/bench/docs"
	"github.com/stoatdb/stoat/bench/items"
	"github.com/stoatdb/stoat/bench/load"
	"github.com/stoatdb/stoat/bench/queue"
	"github.com/stoatdb/stoat/bench/remote"
	"github.com/stoatdb/stoat/bench/runner"
	"github.com/stoatdb/stoat/bench/ssb"
	"github.com/stoatdb/stoat/bench/strategies"
	"github.com/stoatdb/stoat/bench/suite"
	"github.com/stoatdb/stoat/bench/sync"
)

// usage is printed for an unknown command.
const usage = "usage: bench [flags] | list | report FILE | compare OLD NEW | advise FILE | install"

// installCommand is the command that gets what some peers need.
const installCommand = "install"

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}
	switch {
	case command == runner.ChildArgument:
		// The parent decides when to stop. What engines print must not disturb the answer.
		signal.Ignore(os.Interrupt)
		out := os.Stdout
		os.Stdout = os.Stderr
		return runner.Child(os.Stdin, out, findSuite)
	case command == sync.ProgramArgument && len(args) == 2:
		signal.Ignore(os.Interrupt)
		return sync.Program(args[1], os.Stdin, os.Stdout)
	case command == remote.ProgramArgument && len(args) == 2:
		signal.Ignore(os.Interrupt)
		return remote.Program(args[1], os.Stdin, os.Stdout)
	case command == remote.ServerArgument && len(args) == 1:
		signal.Ignore(os.Interrupt)
		return remote.Server(os.Stdin, os.Stdout)
	case command == "list" && len(args) > 1:
		return fmt.Errorf("list takes no arguments; got %q", args[1])
	case command == "list":
		list(os.Stdout)
		return nil
	case command == installCommand && len(args) > 1:
		return fmt.Errorf("install takes no arguments; got %q", args[1])
	case command == installCommand:
		return errors.Join(sync.Install(os.Stderr), remote.Install(os.Stderr))
	case command == advise.Name:
		ctx, stop := untilStopped()
		defer stop()
		return advise.Command(ctx, args[1:], os.Stdout, os.Stderr)
	case command == "compare":
		return compare.Command(args[1:], os.Stdout, findSuite)
	case command == "report":
		return reportCommand(args[1:], os.Stdout)
	case command != "" && !strings.HasPrefix(command, "-"):
		return fmt.Errorf("no command %q; %s", command, usage)
	}
	return measure(args)
}

// untilStopped returns a context that is done when the user stops the program. A signal that was
// ignored from the start, as with nohup, stays ignored.
func untilStopped() (context.Context, context.CancelFunc) {
	signals := []os.Signal{syscall.SIGTERM}
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signal.NotifyContext(context.Background(), signals...)
}

// suites returns all suites, in the order of the report.
func suites() []suite.Suite {
	return []suite.Suite{ssb.Suite(), ssb.Growth(), strategies.Suite(), items.Suite(),
		load.Suite(), docs.Suite(), queue.Suite(), sync.Suite(), remote.Suite()}
}

// findSuite returns the suite with the name. The advisor's suite cannot be chosen by a flag.
func findSuite(name string) (suite.Suite, error) {
	if name == advise.Name {
		return advise.Suite(), nil
	}
	var known []string
	for _, s := range suites() {
		if s.Name == name {
			return s, nil
		}
		known = append(known, s.Name)
	}
	return suite.Suite{}, fmt.Errorf("no suite %q; there are %s", name, strings.Join(known, ", "))
}
