// Package arguments parses the arguments of the benchmark's commands in one way: flags may stand
// before and after the operands, an error about a flag is one sentence, and -h is not an error.
package arguments

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

// Parse sets the flags and returns the operands. If help is requested, it prints the usage and the
// flags to stdout and returns flag.ErrHelp.
func Parse(
	f *flag.FlagSet, args []string, usage string, stdout io.Writer,
) (operands []string, err error) {
	f.SetOutput(io.Discard) // the caller prints the error
	for rest := args; ; rest = f.Args()[1:] {
		if err := f.Parse(rest); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				fmt.Fprintln(stdout, usage)
				f.SetOutput(stdout)
				f.PrintDefaults()
			}
			return nil, err
		}
		if f.NArg() == 0 {
			return operands, nil
		}
		operands = append(operands, f.Arg(0))
	}
}
