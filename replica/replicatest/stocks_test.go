package replicatest_test

import (
	"testing"

	"github.com/stoatdb/stoat/replica/replicatest"
)

func TestExample_passes(t *testing.T) {
	replicatest.Run(t, app(), &replicatest.Options{Histories: 2, Steps: 10, Seed: 1})
}
