package arch

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const script = ".ci/run"

var (
	stepFunction   = regexp.MustCompile(`(?m)^step_(\w+)\(\)`)
	stepsByDefault = regexp.MustCompile(`(?m)^\[ \$# -gt 0 \] \|\| set -- (.*)$`)
	scriptVariable = regexp.MustCompile(`\$\{([A-Z_]+):-(\w+)\}`)
	makeTargets    = regexp.MustCompile(`(?m)^([a-z][a-z -]*):`)
	variable       = regexp.MustCompile(`^([A-Z][A-Z_]{2,})=\S`)
	commandName    = regexp.MustCompile(`(?m)^\t\tName: +"([a-z-]+)"`)
)

// steps returns the names of the checks in .ci/run.
func steps(t *testing.T) []string { return firstGroups(stepFunction, read(t, script)) }

// targets returns the targets of the Makefile.
func targets(t *testing.T) []string {
	t.Helper()
	return strings.Fields(strings.Join(firstGroups(makeTargets, read(t, "Makefile")), " "))
}

// variables returns the environment variables that .ci/run reads.
func variables(t *testing.T) []string { return firstGroups(scriptVariable, read(t, script)) }

func firstGroups(r *regexp.Regexp, text string) []string {
	var all []string
	for _, found := range r.FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}

func TestScript_runsAllItsStepsByDefault(t *testing.T) {
	found := stepsByDefault.FindStringSubmatch(read(t, script))
	if found == nil {
		t.Fatalf("%s has no line that sets the steps", script)
	}
	got, want := strings.Fields(found[1]), steps(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s runs %v, but has the steps %v", script, got, want)
	}
}

func TestContributing_listsTheSteps(t *testing.T) {
	d := documentNamed(t, "CONTRIBUTING.md")
	_, table, _ := strings.Cut(d.section(t, "Build and test"), "| step |")
	table, _, _ = strings.Cut(table, "\n\n")
	got, want := firstColumn(table), steps(t)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the table of CONTRIBUTING.md has the steps %v, and %s has %v", got, script, want)
	}
	for _, found := range scriptVariable.FindAllStringSubmatch(read(t, script), -1) {
		if set := found[1] + "=" + found[2]; !strings.Contains(table, "`"+set+"`") {
			t.Errorf("the table of CONTRIBUTING.md lacks `%s`, the default of %s", set, script)
		}
	}
}

func TestMakefile_hasTheSteps(t *testing.T) {
	have := targets(t)
	for _, step := range steps(t) {
		if !slices.Contains(have, step) {
			t.Errorf("make %s does not run the step %s of %s", step, step, script)
		}
	}
}

// shellWords splits a command at spaces outside of quotes and drops comments.
func shellWords(command string) []string {
	var words []string
	quote, within := rune(0), false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
			if !within {
				words, within = append(words, ""), true
			}
		case quote == 0 && r == '#' && !within:
			return words
		case quote == 0 && r == ' ':
			within = false
		default:
			if !within {
				words, within = append(words, ""), true
			}
			words[len(words)-1] += string(r)
		}
	}
	return words
}

func TestShellWords(t *testing.T) {
	got := shellWords(`a  -b 'c d' "e" f#g # h`)
	if want := []string{"a", "-b", "c d", "e", "f#g"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDocuments_nameCommandsThatExist(t *testing.T) {
	c := knownCommands(t)
	for _, d := range documents(t) {
		for _, command := range slices.Concat(d.spans, d.commands) {
			for part := range strings.SplitSeq(command, " | ") {
				words := shellWords(part)
				for len(words) > 0 && variable.MatchString(words[0]) {
					name := variable.FindStringSubmatch(words[0])[1]
					if !slices.Contains(c.variables, name) {
						t.Errorf("%s: %q sets %s, which nothing reads", d.path, command, name)
					}
					words = words[1:]
				}
				if problem := c.problem(words); problem != "" {
					t.Errorf("%s: %q: %s", d.path, command, problem)
				}
			}
		}
	}
}

// commands are the commands that a document may tell a reader to type.
type commands struct {
	variables, targets, steps []string
	stoat, replica, remote    []string // the subcommands
	tests                     []string
	strings                   map[string]bool // the string literals of all modules
}

func knownCommands(t *testing.T) *commands {
	t.Helper()
	c := &commands{
		variables: append(variables(t), "GOMAXPROCS", "GOARCH", "GOOS", "CGO_ENABLED"),
		targets:   targets(t),
		steps:     steps(t),
		strings:   map[string]bool{},
	}
	for _, f := range everything(t) {
		if names := firstGroups(commandName, string(f.text)); f.pkg == "cmd/stoat" && !f.test {
			c.stoat = append(c.stoat, names...)
		} else if f.pkg == "replica/cmd/stoat-replica" && !f.test {
			c.replica = append(c.replica, names...)
		} else if f.pkg == "remote/s3/cmd/stoat-remote" && !f.test {
			c.remote = append(c.remote, names...)
		}
		for _, found := range stringLiteral.FindAllStringSubmatch(string(f.text), -1) {
			c.strings[found[1]] = true
		}
		c.tests = append(c.tests, firstGroups(testFunction, string(f.text))...)
	}
	return c
}

var (
	stringLiteral = regexp.MustCompile(`"([^"\\\n]*)"`)
	testFunction  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	lowerWord     = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// problem returns what is wrong with a command of this repository, or "".
func (c *commands) problem(words []string) string {
	if len(words) < 2 {
		return ""
	}
	switch words[0] {
	case "make":
		for _, target := range words[1:] {
			if strings.ToLower(target) == target && !slices.Contains(c.targets, target) {
				return "the Makefile has no target " + target
			}
		}
	case script:
		for _, step := range words[1:] {
			if !slices.Contains(c.steps, step) {
				return script + " has no step " + step
			}
		}
	case "stoat":
		return c.stoatProblem(words[1:])
	case "go":
		return c.goProblem(words[1], words[2:])
	}
	return ""
}

func (c *commands) stoatProblem(words []string) string {
	if lowerWord.MatchString(words[0]) && !slices.Contains(c.stoat, words[0]) {
		return "stoat has no command " + words[0]
	}
	if words[0] == "replica" && len(words) > 1 && !slices.Contains(c.replica, words[1]) {
		return "stoat replica has no command " + words[1]
	}
	if words[0] == "remote" && len(words) > 1 && !slices.Contains(c.remote, words[1]) {
		return "stoat remote has no command " + words[1]
	}
	for _, word := range words[1:] {
		if name, isFlag := strings.CutPrefix(word, "-"); isFlag && name != "" && !c.strings[name] {
			return "stoat has no flag " + word
		}
	}
	return ""
}

const noTest = "^$" // the pattern of who wants benchmarks only

// goProblem checks the folders, tests and flags of a go command.
func (c *commands) goProblem(verb string, words []string) string {
	if !slices.Contains([]string{"run", "test", "build", "vet"}, verb) {
		return ""
	}
	folder := ""
	for i, word := range words {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		pkg, all := strings.CutSuffix(word, "/...")
		switch {
		case word == "-C":
			folder = next
		case strings.HasPrefix(word, "./") && !(all && pkg == ".") && !exists(path.Join(folder, pkg)):
			return "there is no folder " + path.Join(folder, pkg)
		case word == "./cmd/stoat" && next != "":
			return c.stoatProblem(words[i+1:])
		case word == "-run" && next != noTest && !c.hasTest(next):
			return "there is no test " + next
		case word == "-bench" && next != "." && !c.hasBenchmark(next):
			return "there is no benchmark " + next
		case strings.HasPrefix(word, "-") && strings.Contains(word, ".") && !c.strings[word[1:]]:
			return "no test has the flag " + word
		}
	}
	return ""
}

// hasTest reports whether a test has the name, perhaps followed by an underscore and more.
func (c *commands) hasTest(name string) bool {
	name = strings.Trim(name, "^$")
	return slices.ContainsFunc(c.tests, func(test string) bool {
		return test == name || strings.HasPrefix(test, name+"_")
	})
}

// hasBenchmark reports whether a benchmark has the name, with or without Benchmark. What follows a
// slash is not looked at.
func (c *commands) hasBenchmark(name string) bool {
	name, _, _ = strings.Cut(name, "/")
	return c.hasTest("Benchmark" + strings.TrimPrefix(name, "Benchmark"))
}

// everything returns the files of all modules.
func everything(t *testing.T) []*file {
	t.Helper()
	var all []*file
	of := []string{library, benchmark, trust, importing, shell, replicas, bucket, rafts, bolts,
		measuring, studio}
	for _, m := range of {
		all = append(all, load(t, m)...)
	}
	for _, m := range adapters(t) {
		all = append(all, load(t, m)...)
	}
	return all
}
