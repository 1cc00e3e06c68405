package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var killsFlag = flag.Int("cluster.kills", 4, "how many servers to kill")

func TestMain(m *testing.M) {
	if os.Getenv(planVariable) == "" {
		os.Exit(m.Run())
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestCluster_losesNoAcknowledgedCommand(t *testing.T) {
	var out strings.Builder
	err := demonstrate(t.TempDir(), *killsFlag, &out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "was killed"); n != *killsFlag {
		t.Errorf("%d servers were killed", n)
	}
}
