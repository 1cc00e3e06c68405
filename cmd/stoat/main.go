// Command stoat reads, writes, dumps and loads Stoat databases, and shows what they can do.
//
// Each subcommand is a file of its own, named after it; the other files hold one noun each that
// several of them share. A subcommand is a [command] value, built anew for every run, so that run
// can be called any number of times, also concurrently. The package uses the public API of the
// library and nothing below it.
//
// It is no shell and no server: one run does one thing in one or a few transactions.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
