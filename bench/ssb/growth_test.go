package ssb

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

func TestGrowth_measuresEveryRowAtEverySize(t *testing.T) {
	s := suite.Settings{
		Profile: suite.Quick, Rounds: 1, N: 3000, Seed: 1, Order: engine.BigEndian,
	}
	for _, name := range []string{"stoat", "bbolt"} { // it calls nothing that ssb does not
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(map[string]bool)
			for _, task := range Growth().Tasks(s) {
				job := suite.Job{Settings: s, Task: task.Name, Engine: name, Dir: t.TempDir()}
				err := Growth().Run(job, func(at suite.At, values ...float64) {
					seen[fmt.Sprint(at.Row, at.X)] = len(values) > 0
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, row := range Growth().Rows {
				for _, x := range []float64{30, 300, 3000} {
					if !seen[fmt.Sprint(row.Name, x)] {
						t.Errorf("no samples of %s at %v", row.Name, x)
					}
				}
			}
		})
	}
}
