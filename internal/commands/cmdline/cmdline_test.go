package cmdline

import (
	"errors"
	"strings"
	"testing"
)

// greeter returns a program of three commands, each of which returns its name.
func greeter() *Program[func() string] {
	return &Program[func() string]{
		Name: "greet", Intro: "It greets.", Outro: "Exit codes: 0.",
		Commands: func() []*Command[func() string] {
			hello := &Command[func() string]{
				Name: "hello", Arguments: "NAME ...", Summary: "greet people", Min: 1, Max: Unlimited,
				Flags: NewFlags(), Run: func() string { return "hello" },
			}
			hello.Flags.Bool("loud", false, "shout")
			hello.Flags.Int("times", 1, "how `often`")
			return []*Command[func() string]{
				hello,
				{Name: "other", Summary: "run another", Max: Unlimited, Whole: true, Flags: NewFlags()},
				{Name: "secret", Summary: "hide", Hidden: true, Flags: NewFlags()},
			}
		},
	}
}

// execute returns the command and the arguments that a line comes to, and what it prints.
func execute(line string) (name, flags string, args []string, printed string, err error) {
	var out strings.Builder
	err = greeter().Execute(strings.Fields(line), &out,
		func(c *Command[func() string], positional []string) error {
			name, args = c.Name, positional
			if f := c.Flags.Lookup("times"); f != nil {
				flags = c.Flags.Lookup("loud").Value.String() + " " + f.Value.String()
			}
			return nil
		})
	return name, flags, args, out.String(), err
}

func TestExecute_takesFlagsAnywhere(t *testing.T) {
	for _, c := range []struct{ line, flags, args string }{
		{"hello -loud ann -times 2 bob", "true 2", "ann bob"},
		{"hello ann --times=3 -loud=false", "false 3", "ann"},
		{"hello -- -loud -", "false 1", "-loud -"},
		{"hello - ann", "false 1", "- ann"},
		{"other -any -flag x -- y", "", "-any -flag x -- y"},
	} {
		_, flags, args, _, err := execute(c.line)
		if err != nil || flags != c.flags || strings.Join(args, " ") != c.args {
			t.Errorf("%s: flags %q, arguments %q, error %v", c.line, flags, args, err)
		}
	}
}

func TestExecute_refusesWrongLines(t *testing.T) {
	for _, c := range []struct{ line, message string }{
		{"", `no command; "greet help" lists them`},
		{"bye", `unknown command "bye"; "greet help" lists all commands`},
		{"hello", "hello: 0 arguments, usage: greet hello [flags] NAME ...; " +
			`"greet help hello" says more`},
		{"secret x", "secret: 1 argument, usage: greet secret"},
		{"hello -quiet ann", "write -- before arguments"},
		{"hello ann -times", "needs an argument"},
	} {
		var usage UsageError
		name, _, _, _, err := execute(c.line)
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.message) || name != "" {
			t.Errorf("%q runs %q, and fails with %v", c.line, name, err)
		}
	}
}

func TestHelp_listsCommandsAndFlags(t *testing.T) {
	want := "greet hello - greet people\n\nusage: greet hello [flags] NAME ...\n\n" +
		"flags, before or after the arguments:\n  -loud         shout\n  -times often  how often\n"
	if _, _, _, printed, err := execute("hello ann -h"); err != nil || printed != want {
		t.Errorf("hello -h prints %q (%v)", printed, err)
	}
	if _, _, _, printed, err := execute("other -h x"); err != nil ||
		!strings.HasPrefix(printed, "greet other - ") {
		t.Errorf("other -h prints %q (%v)", printed, err)
	}
	var out strings.Builder
	want = "It greets.\n\nusage: greet COMMAND [flags] [arguments]\n\n" +
		"  hello  greet people\n  other  run another\n\nExit codes: 0.\n"
	if err := greeter().Help(&out, nil); err != nil {
		t.Error(err)
	}
	if out.String() != want {
		t.Errorf("the overview is %q", out.String())
	}
	if err := greeter().Help(&out, []string{"bye"}); err == nil {
		t.Error("there is help for a command that does not exist")
	}
}
