//go:build !unix

package failover

import (
	"os"
	"testing"
)

// freeze skips the test: here, processes cannot be stopped for a while.
func freeze(t *testing.T, _ *os.Process) {
	t.Helper()
	t.Skip("no signal stops a process")
}

func thaw(*testing.T, *os.Process) {}
