package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	roles := []string{roleWriter, roleStandby, roleReader}
	if len(os.Args) < 2 || !slices.Contains(roles, os.Args[1]) {
		os.Exit(m.Run())
	}
	if err := play(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestDemonstrate_losesNothingThatWasAcknowledged(t *testing.T) {
	var out strings.Builder
	err := demonstrate(&out)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{
		"is killed", "standby is the writer", "reader 1 sees", "reader 2 sees",
	} {
		if !strings.Contains(out.String(), said) {
			t.Errorf("it does not say %q", said)
		}
	}
}
