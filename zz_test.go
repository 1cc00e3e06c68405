package stoat_test

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestZZ(t *testing.T) {
	for _, w := range workloads {
		if w.name != "transactions-unsynced" && w.name != "large-values-unsynced" && w.name != "churn-unsynced" {
			continue
		}
		seen := map[string]bool{}
		for n := int64(1); n < 1400; n++ {
			f := &fault{workload: w, first: n, cause: errBroken, name: "once"}
			var ops []faultfs.Op
			disk := memfs.NewCrashable()
			f.line = newTimeline()
			f.runner = &runner{workload: w, seed: 1, line: f.line, tolerate: f.tolerate}
			f.runner.fs = faultfs.New(disk, func(op faultfs.Op) error {
				err := f.before(op)
				ops = append(ops, op)
				return err
			})
			err := f.runner.start()
			if f.operations.Load() < n {
				break
			}
			_, synced, begun := f.line.marks()
			crashed := disk.CrashKeepNone()
			if err := f.finds(crashed, promise{synced, begun}); err != nil && len(ops) > int(n) {
				k := ops[n-1].Kind.String()
				if seen[k] {
					continue
				}
				seen[k] = true
				fmt.Println(w.name, n, err)
				for i := max(0, int(n)-8); i < len(ops); i++ {
					m := " "
					if i == int(n)-1 {
						m = "*"
					}
					fmt.Println(m, ops[i])
				}
			}
			_ = err
		}
	}
	_ = vfs.ErrNoSpace
}
