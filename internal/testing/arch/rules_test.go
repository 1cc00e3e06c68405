package arch

import (
	"fmt"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// exceptions maps "path: rule" to the reason why the file may break the rule. An exception that is
// no longer needed fails the test.
var exceptions = map[string]string{
	"internal/vfs/fault.go: any in the API": "what recover returns has no other type",
	"feed/open.go: clock": "entries carry the time of their Append, and only a layer can take it; " +
		"Options.Now replaces it",
	"remote/far.go: clock": "a cache tries its disk again some time after that failed, and gets the " +
		"clock from what opens it",
	"internal/hook/hook.go: mutable globals": "Open has no parameter that could carry what tests " +
		"choose, and the API must not get one; the pointer to the options tells the calls apart",
	"internal/engine/memory.go: mutable globals": "the memory of a process is one, and the " +
		"databases in it do not know each other",
	"internal/engine/deadlock.go: mutable globals": "a goroutine nests transactions of any " +
		"databases of the process, so one that looks for a deadlock must know how many are open in all",
	"internal/vfs/os_portable.go: mutable globals": "the locks of a process are one set by nature, " +
		"and where these platforms have nothing else, all its databases must share it",
	"internal/vfs/cryptfs/random.go: randomness": "a salt that a caller could choose could be used " +
		"twice, and then the encryption of two files is broken",
	"raftstore/machine.go: any in the API": "raft.FSM has it: the response to a command is what the " +
		"program makes of it",
	"adapters/gokv/store.go: any in the API": "gokv.Store has it: values are of any type",
	"boltcompat/options.go: mutable globals": "DefaultOptions is a variable of bbolt's API",
	"examples/gossip/main.go: operating system": "a program has flags, output and interrupts; " +
		"it reaches files through a database only",
	"examples/gossip/main.go: exit": "called by main alone, as in cmd/stoat/main.go",
	"examples/shop/main.go: operating system": "a program has flags and interrupts; " +
		"it reaches files through a database only",
	"examples/shop/main.go: exit": "called by main alone, as in cmd/stoat/main.go",
	"examples/todo/main.go: operating system": "a program has arguments, input and output; " +
		"it reaches files through a database only",
	"examples/todo/main.go: exit": "called by main alone, as in cmd/stoat/main.go",
}

// rule is one thing that source files must not do.
type rule struct {
	name  string
	check func(f *file, report reporter)
	at    string // the path of the samples, if it matters
	bad   string // code that breaks the rule once; without a package clause, one is added
	good  string // similar code that does not break it
}

// reporter records one finding: where it is and what to do about it.
type reporter func(pos token.Pos, format string, args ...any)

// rules returns all rules.
func rules() []rule { return slices.Concat(declRules, callRules, textRules) }

func TestRules_hold(t *testing.T) {
	used := map[string]bool{}
	hold(t, rules(), load(t, library), used)
	// The other modules may call what they like, but they are written alike.
	hold(t, slices.Concat(declRules, textRules), load(t, benchmark), used)
	hold(t, slices.Concat(declRules, textRules), load(t, trust), used)
	hold(t, slices.Concat(declRules, textRules), load(t, importing), used)
	hold(t, slices.Concat(declRules, textRules), load(t, shell), used)
	hold(t, slices.Concat(declRules, textRules), load(t, replicas), used)
	hold(t, slices.Concat(declRules, textRules), load(t, bucket), used)
	hold(t, slices.Concat(declRules, textRules), load(t, rafts), used)
	hold(t, slices.Concat(declRules, textRules), load(t, bolts), used)
	for _, m := range adapters(t) {
		hold(t, slices.Concat(declRules, textRules), load(t, m), used)
	}
	hold(t, slices.Concat(declRules, textRules), load(t, measuring), used)
	hold(t, slices.Concat(declRules, textRules), load(t, studio), used)
	for key := range exceptions {
		if !used[key] {
			t.Errorf("the exception %q is not needed any more; remove it", key)
		}
	}
}

// hold fails the test where a file breaks a rule, and records the exceptions used.
func hold(t *testing.T, rules []rule, files []*file, used map[string]bool) {
	t.Helper()
	for _, r := range rules {
		for _, f := range files {
			for _, finding := range findings(r, f) {
				key := f.path + ": " + r.name
				if exceptions[key] != "" {
					used[key] = true
					continue
				}
				t.Errorf("%s [%s]", finding, r.name)
			}
		}
	}
}

func TestRules_catchWhatTheyForbid(t *testing.T) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			if got := findings(r, sample(t, r, r.bad)); len(got) != 1 {
				t.Errorf("%d findings in the bad sample, want 1: %q", len(got), got)
			}
			if got := findings(r, sample(t, r, r.good)); len(got) != 0 {
				t.Errorf("the good sample is found bad: %q", got)
			}
		})
	}
}

// findings applies a rule to a file.
func findings(r rule, f *file) []string {
	var all []string
	r.check(f, func(pos token.Pos, format string, args ...any) {
		message := fmt.Sprintf(format, args...)
		all = append(all, fmt.Sprintf("%s:%d: %s", f.path, f.line(pos), message))
	})
	return all
}

// sample parses the sample code of a rule.
func sample(t *testing.T, r rule, code string) *file {
	t.Helper()
	path := r.at
	if path == "" {
		path = "internal/sample/sample.go"
	}
	if !strings.Contains(code, "package sample") {
		code = "package sample\n\n" + code + "\n"
	}
	f, err := parse(path, []byte(code))
	if err != nil {
		t.Fatal(err)
	}
	return f
}
