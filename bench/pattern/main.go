// Command pattern prints how well and how fast the pattern codec compresses records of several
// kinds, compared with zstd.
//
//	go run ./pattern [-only TEXT]
//
// Each kind is several megabytes of records, generated or read from files that exist on any machine
// with Go. A dictionary is trained on a mebibyte of them, evenly spaced; the others are
// measured. Times are the shortest of several passes over up to a mebibyte.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	only := flag.String("only", "", "measure only kinds whose name contains this `text`")
	flag.Parse()
	if err := run(os.Stdout, *only); err != nil {
		fmt.Fprintln(os.Stderr, "pattern:", err)
		os.Exit(1)
	}
}

// run prints the table of the kinds whose name contains the text.
func run(out io.Writer, only string) error {
	head := "| records | count | raw | zstd, 32 KB | zstd, alone | pattern | of zstd | dictionary |" +
		" train, ms | encode, ns | decode, ns | work, ns | length, ns | zstd alone, ns |" +
		" zstd 32 KB, ns |\n"
	columns := strings.Count(head, "|") - 2
	fmt.Fprint(out, head, "| --- |", strings.Repeat(" ---: |", columns), "\n")
	for _, k := range kinds() {
		if !strings.Contains(k.name, only) {
			continue
		}
		values, err := k.load()
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		if len(values) == 0 {
			fmt.Fprintf(out, "| %s | not on this machine |%s\n", k.name,
				strings.Repeat(" |", columns-1))
			continue
		}
		r, err := measure(values)
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
		r.print(out, k.name)
	}
	return nil
}
