// Command cluster runs three servers of a replicated list, kills some of them, and shows that no
// acknowledged command is lost. Each server is a process with its log and its state in Stoat:
//
//	go run ./examples/cluster -kills 5
//
// Servers propose commands while they lead. A killed one comes back with its directory.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// planVariable is the environment variable that makes this program a server; its value is the plan.
const planVariable = "STOAT_CLUSTER_PLAN"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run() error {
	if text := os.Getenv(planVariable); text != "" {
		var p plan
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return err
		}
		return p.run()
	}
	kills := flag.Int("kills", 5, "how many servers to kill")
	flag.Parse()
	dir, err := os.MkdirTemp("", "stoat-cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return demonstrate(dir, *kills, os.Stdout)
}
