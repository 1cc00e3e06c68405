package load

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// names returns the names and rounds of tasks, without those of capped reads: not every system has
// them.
func names(tasks []suite.Task) string {
	var all []string
	for _, task := range tasks {
		if !strings.HasPrefix(task.Name, cappedPrefix) {
			all = append(all, task.Name+" "+string(rune('0'+task.Rounds)))
		}
	}
	return strings.Join(all, ", ")
}

func TestTasks_areThoseOfTheRowsWanted(t *testing.T) {
	const (
		sizes  = "conformance 1, 128 4, 1Ki 4, 16Ki 4"
		orders = "order-random 4, order-sequential 4, order-reverse 4, order-little-endian 4"
		beside = "beside-128 4, beside-1Ki 4, beside-16Ki 4"
	)
	once := func(tasks string) string { return strings.ReplaceAll(tasks, " 4", " 1") }
	for _, c := range []struct {
		profile string
		n       int
		rows    string
		want    string
	}{
		{suite.Quick, 0, "", sizes + ", " + orders + ", beside-128 4"},
		{suite.Quick, 100, "", sizes + ", " + orders + ", " + beside},
		{suite.Full, 0, "", sizes + ", " + once(orders+", "+beside)},
		{suite.Full, 100, "", sizes + ", " + orders + ", " + beside},
		{suite.Large, 0, "", sizes},
		{suite.Full, 100, "get_1", sizes},
		{suite.Full, 100, "churn_size", sizes},
		{suite.Full, 100, "order_size", "conformance 1, " + orders},
		{suite.Full, 100, "beside_p999", "conformance 1, " + beside},
		{suite.Full, 100, "capped_get_1", "conformance 1"},
	} {
		s := suite.Settings{Profile: c.profile, N: c.n, Rounds: 4}
		if c.rows != "" {
			s.Rows = []string{c.rows}
		}
		got := tasks(s)
		if first := (suite.Task{Name: taskConform, Rounds: 1, Gate: true}); got[0] != first {
			t.Errorf("task %+v", got[0])
		}
		if names(got) != c.want {
			t.Errorf("%s, -n %d, %s: %s\ninstead of %s", c.profile, c.n, c.rows, names(got), c.want)
		}
	}
}

func TestTasks_capWhatIsLargeEnough(t *testing.T) {
	s := suite.Settings{Profile: suite.Full, N: 1_500_000, Rounds: 3}
	var capped []suite.Task
	for _, task := range tasks(s) {
		if strings.HasPrefix(task.Name, cappedPrefix) {
			capped = append(capped, task)
		}
	}
	if machine.CheckCap() != nil {
		if len(capped) > 0 {
			t.Errorf("tasks %+v where memory cannot be capped", capped)
		}
		return
	}
	first := suite.Task{Name: "capped-128", Rounds: 3, Then: "capped-128-read"}
	if len(capped) != len(valueSizes()) || capped[0] != first {
		t.Errorf("tasks %+v", capped)
	}
}

func TestLimits_sayWhatIsLeftOut(t *testing.T) {
	capped := []string{"capped_get_1"}
	for _, c := range []struct {
		s    suite.Settings
		want string // in the first note; if empty, there is none but of the system
	}{
		{suite.Settings{Profile: suite.Quick}, ""},
		{suite.Settings{Profile: suite.Quick, Rows: capped}, "no values of 128, 1Ki, 16Ki with"},
		{suite.Settings{Profile: suite.Full, N: 100}, "less than 32 MiB; give a larger -n"},
		{suite.Settings{Profile: suite.Full, N: 1_500_000}, ""},
		{suite.Settings{Profile: suite.Full, N: 1_000_000}, "no values of 128 with capped"},
		{suite.Settings{Profile: suite.Full, N: 100, Rows: []string{"load"}}, ""},
		{suite.Settings{Profile: suite.Large}, "in the large profile"},
	} {
		notes := strings.Join(limits(c.s), "\n")
		if c.want == "" && machine.CheckCap() == nil && notes != "" ||
			!strings.Contains(notes, c.want) {
			t.Errorf("%+v: notes %q", c.s, notes)
		}
	}
}

func TestJob_doesWhatTheTasksName(t *testing.T) {
	s := suite.Settings{Profile: suite.Quick, Rounds: 1, Seed: 1, N: 400}
	for _, name := range []string{
		"beside-1Ki", "order-little-endian", "capped-128",
	} {
		rows := make(map[string]bool)
		job := suite.Job{Settings: s, Task: name, Engine: "bbolt", Round: 1, Dir: t.TempDir()}
		err := runJob(job, func(at suite.At, _ ...float64) { rows[at.Row+" "+at.State] = true })
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"beside-1Ki": "beside_p99 1Ki", "order-little-endian": "order_size little-endian",
		}[name]
		if want != "" && !rows[want] || want == "" && len(rows) > 0 {
			t.Errorf("%s: rows %v", name, rows)
		}
	}
}
