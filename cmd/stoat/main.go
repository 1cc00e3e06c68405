// Command stoat reads, writes, dumps and loads Stoat databases, and shows what they can do.
//
// Each subcommand has a file named after it; each of the other files holds one noun that several
// subcommands share. A subcommand is a [command] value, built for each run, so run can be called
// any number of times, even concurrently. The package uses only the public API of the library.
//
// It is neither a shell nor a server: one run does one thing, in one or a few transactions.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
