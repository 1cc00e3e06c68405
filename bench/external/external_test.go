package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/bench/suite"
)

// speak is the argument that makes the test binary a program that answers with a given text.
const speak = "speak"

// TestMain lets the test binary be the program, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == speak {
		os.Exit(answerWith(os.Args[2]))
	}
	os.Exit(m.Run())
}

// answerWith prints what a file says, after which it may do something else, and returns the status.
func answerWith(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 100
	}
	var got order
	if err := json.NewDecoder(os.Stdin).Decode(&got); err != nil {
		return 101
	}
	lines, then, _ := strings.Cut(string(text), "THEN ")
	fmt.Print(lines)
	switch then {
	case "complain":
		fmt.Fprintln(os.Stderr, "out of luck")
		return 3
	case "hang":
		time.Sleep(time.Hour)
	case "go on":
		for {
			fmt.Println("nonsense")
		}
	}
	return 0
}

// speaker returns a program that answers with a text.
func speaker(t testing.TB, text string) Program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Program{Name: "odd", Command: []string{self, speak, path}}
}

// plan is a job with a step of each kind.
func plan(suite.Job) ([]Script, error) {
	return []Script{{Steps: []Step{
		{Do: Open},
		{Do: Append, Values: "values", Count: 25, Batch: 10, At: suite.At{Row: "append"}},
		{Do: Digest, Count: 25, SHA256: "c0ffee"},
		{Do: Get, Count: 6, Batch: 3, Bytes: 600, At: suite.At{Row: "get", State: "loaded"}},
		{Do: Close},
	}}}, nil
}

// sound is what a sound program answers.
const sound = `{"step":0}
{"step":1,"samples":[100,200.5]}

{"step":2,"count":25,"sha256":"C0FFEE"}
{"step":3,"samples":[7,8],"bytes":600}
{"step":4}
`

func job(t testing.TB) suite.Job {
	t.Helper()
	return suite.Job{Suite: "test", Task: "all", Engine: "odd", Round: 2, Dir: t.TempDir()}
}

func TestTurn_makesMeasurementsOfAnswers(t *testing.T) {
	for _, text := range []string{sound, strings.TrimSuffix(sound, "\n")} {
		got, err := speaker(t, text).Turn(t.Context(), plan, job(t))
		want := []suite.Measurement{
			{Engine: "odd", Round: 2, At: suite.At{Row: "append"}, Values: []float64{100, 200.5}},
			{
				Engine: "odd", Round: 2, At: suite.At{Row: "get", State: "loaded"},
				Values: []float64{7, 8},
			},
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestTurn_leavesOutARowThatIsNotSupported(t *testing.T) {
	text := strings.Replace(sound, `"samples":[7,8],"bytes":600`, `"unsupported":"too new"`, 1)
	got, err := speaker(t, text).Turn(t.Context(), plan, job(t))
	if err != nil || len(got) != 1 || got[0].Row != "append" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTurn_saysWhatIsWrongInOneSentence(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`{"step":2,`, `hello {"step":2,`, `line 4 of its answer is not JSON: ` +
			`"hello {\"step\":2,\"count\":25,\"sha256\":\"C0FFEE\"}"`},
		{`[100,200.5]`, `[100,NaN]`,
			`line 2 of its answer is not JSON: "{\"step\":1,\"samples\":[100,NaN]}"`},
		{`[100,200.5]`, `[100,null]`, `line 2, step 1 (append): sample 1 is not a number`},
		{`[100,200.5]`, `[-100,2]`,
			`line 2, step 1 (append): sample 0 is -100 ns, but must be positive`},
		{`[100,200.5]`, `[0,2]`,
			`line 2, step 1 (append): sample 0 is 0 ns, but must be positive`},
		{`[100,200.5]`, `[1,2,3]`, `line 2, step 1 (append): 3 samples instead of 2`},
		{`[100,200.5]`, `"fast"`, `line 2 of its answer does not follow the protocol: ` +
			`"samples" cannot be string`},
		{`{"step":0}`, `[0]`,
			`line 1 of its answer does not follow the protocol: array instead of an object`},
		{`"samples":[100`, `"row":"append","samples":[100`,
			`line 2 of its answer does not follow the protocol: unknown field "row"`},
		{`{"step":0}`, `{}`, `line 1 of its answer has no step: "{}"`},
		{`{"step":0}`, `{"step":7}`, `line 1 answers step 7 instead of step 0 (open)`},
		{`{"step":0}`, `{"step":0,"unsupported":"no disk"}`,
			`line 1, step 0 (open): every engine must support this step: no disk`},
		{`{"step":4}`, `{"step":4}` + "\n" + `{"step":5}`,
			`line 7 of its answer is unexpected: "{\"step\":5}"`},
		{`"bytes":600`, `"bytes":599`, `line 5, step 3 (get): values of 599 bytes instead of 600`},
		{`,"bytes":600`, ``, `line 5, step 3 (get): "bytes" is missing`},
		{`"count":25`, `"count":24`, `line 4, step 2 (digest): 24 pairs instead of 25`},
		{`C0FFEE`, `decaf`, `line 4, step 2 (digest): the number of pairs is right, but they are ` +
			`not those written, in key order: SHA-256 "decaf" instead of c0ffee`},
		{`,"sha256":"C0FFEE"`, ``,
			`line 4, step 2 (digest): "count" or "sha256" is missing`},
		{`{"step":4}`, ``, `it ended without an answer to step 4 (close), after 4 of 5`},
		{`{"step":4}`, `THEN complain`,
			`exit status 3, in step 4 (close); it printed: out of luck`},
		{`{"step":4}`, `{"step":4}` + "\nTHEN complain",
			`exit status 3, after its last answer; it printed: out of luck`},
		{`{"step":4}`, "THEN go on", `line 6 of its answer is not JSON: "nonsense"`},
	} {
		text := strings.Replace(sound, c.from, c.to, 1)
		if strings.Contains(text, "THEN") {
			text = strings.TrimSuffix(text, "\n")
		}
		_, err := speaker(t, text).Turn(t.Context(), plan, job(t))
		if err == nil || err.Error() != "engine odd: "+c.want {
			t.Errorf("%s as %s:\n%v\ninstead of\nengine odd: %s", c.from, c.to, err, c.want)
		}
	}
}

func TestTurn_keepsWhatWasMeasuredBeforeItFails(t *testing.T) {
	text := strings.Replace(sound, "C0FFEE", "decaf", 1)
	got, err := speaker(t, text).Turn(t.Context(), plan, job(t))
	if err == nil || len(got) != 1 || got[0].Row != "append" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTurn_endsAProgramThatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	text, _, _ := strings.Cut(sound, `{"step":4}`)
	_, err := speaker(t, text+"THEN hang").Turn(ctx, plan, job(t))
	if err == nil || !strings.HasPrefix(err.Error(), "engine odd: did not finish within ") {
		t.Errorf("error %v", err)
	}
}

func TestTurn_endsAProgramWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := speaker(t, "THEN hang").Turn(ctx, plan, job(t))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTurn_saysThatAProgramCannotBeStarted(t *testing.T) {
	p := Program{Name: "odd", Command: []string{"/no/such/program"}}
	_, err := p.Turn(t.Context(), plan, job(t))
	if err == nil || !strings.HasPrefix(err.Error(), "engine odd cannot be started: ") {
		t.Errorf("error %v", err)
	}
}

func TestTurn_tellsWhatIsNotSupported(t *testing.T) {
	p := speaker(t, `{"unsupported":"only ssb"}`)
	_, err := p.Turn(t.Context(), plan, job(t))
	var unsupported *Unsupported
	if !errors.As(err, &unsupported) || unsupported.Reason != "only ssb" {
		t.Errorf("error %v", err)
	}
	_, err = p.Turn(t.Context(), nil, job(t))
	if !errors.As(err, &unsupported) {
		t.Errorf("error %v", err)
	}
	p = speaker(t, `{"unsupported":"only ssb"}`+"\n"+`{"step":0}`)
	_, err = p.Turn(t.Context(), plan, job(t))
	want := `engine odd: line 2 of its answer is unexpected: "{\"step\":0}"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

func TestTurn_performsScriptsOneAfterTheOther(t *testing.T) {
	var finished []string
	plan := func(j suite.Job) ([]Script, error) {
		if _, err := os.Stat(Database(j)); err != nil {
			t.Error(err)
		}
		script := func(name string) Script {
			return Script{Steps: []Step{{Do: Open}}, Finish: func(record suite.Record) error {
				finished = append(finished, name)
				record(suite.At{Row: name}, 1)
				return nil
			}}
		}
		return []Script{script("first"), script("second")}, WriteNumbers(Input(j, "n"), []uint32{1})
	}
	got, err := speaker(t, `{"step":0}`).Turn(t.Context(), plan, job(t))
	if err != nil || len(got) != 2 || strings.Join(finished, " ") != "first second" {
		t.Errorf("%+v, %v, finished %v", got, err, finished)
	}
}

func TestAnswers_boundTheLengthOfALine(t *testing.T) {
	stopped := false
	a := answers{stop: func() { stopped = true }}
	for range 20 {
		if _, err := a.Write(bytes.Repeat([]byte("a"), 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if !stopped || a.err == nil || len(a.rest) > maxLine+1<<20 {
		t.Errorf("stopped %v, error %v, %d bytes kept", stopped, a.err, len(a.rest))
	}
}

func TestOrder_tellsTheProgramWhatToDoAndNotWhatToAnswer(t *testing.T) {
	scripts, err := plan(suite.Job{})
	if err != nil {
		t.Fatal(err)
	}
	j := suite.Job{Suite: "ssb", Task: "messages", Engine: "odd", Round: 1, Dir: "/d"}
	j.Order, j.Seed, j.Sync = "be", 1, true
	got, err := json.Marshal(newOrder(j, scripts[0]))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"protocol":1,"suite":"ssb","task":"messages","engine":"odd","round":1,` +
		`"dir":"/d/db","sync":true,"order":"be","seed":1,"steps":[{"do":"open"},` +
		`{"do":"append","count":25,"batch":10,"values":"values"},{"do":"digest"},` +
		`{"do":"get","count":6,"batch":3},{"do":"close"}]}`
	if string(got) != filepath.FromSlash(want) {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
}

func TestFiles_haveTheirDocumentedForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	values := []string{"ab", "", "c"}
	err := WriteValues(path, func() ([]byte, bool) {
		if len(values) == 0 {
			return nil, false
		}
		v := values[0]
		values = values[1:]
		return []byte(v), true
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, path, "\x02\x00\x00\x00ab\x00\x00\x00\x00\x01\x00\x00\x00c")
	if err := WriteNumbers(path, []uint32{1, 0x01020304}); err != nil {
		t.Fatal(err)
	}
	expect(t, path, "\x01\x00\x00\x00\x04\x03\x02\x01")
}

func expect(t testing.TB, path, want string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil || string(got) != want {
		t.Errorf("%q instead of %q, %v", got, want, err)
	}
}

func TestParse_takesANameAndACommand(t *testing.T) {
	p, err := Parse("log=node engine.mjs --a=b")
	if err != nil || p.Name != "log" || len(p.Command) != 3 || p.Command[2] != "--a=b" {
		t.Errorf("%+v, %v", p, err)
	}
	if about := p.About(); about.Name != "log" || about.Settings != "node engine.mjs --a=b" {
		t.Errorf("%+v", about)
	}
	for _, text := range []string{"", "log", "log=", "=node", "log= ", "a,b=node"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

// documented returns the last two blocks of JSON in the documentation: a job and the answers to it.
func documented(t testing.TB) (job, answers string) {
	t.Helper()
	text, err := os.ReadFile("../EXTERNAL.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```json\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of JSON", len(blocks))
	}
	return blocks[len(blocks)-2], blocks[len(blocks)-1]
}

func TestDocumentation_showsAnExchangeThatIsRight(t *testing.T) {
	text, lines := documented(t)
	var told order
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&told); err != nil {
		t.Fatal(err)
	}
	if told.Protocol != protocol || told.Suite != "ssb" || len(told.Steps) == 0 {
		t.Errorf("%+v", told)
	}
	const digest = "ba07d3453f1498e1f4c9e4cafe9a95f42d96dc4f3f67f88edf92d0d7042297e4"
	told.Steps[2].Bytes, told.Steps[3].Bytes = 146, 154
	told.Steps[8].Count, told.Steps[8].SHA256 = 25, digest
	a := answers{steps: told.Steps, stop: func() {}}
	if _, err := io.WriteString(&a, lines); err != nil {
		t.Fatal(err)
	}
	if err := a.finish(); err != nil {
		t.Error(err)
	}
}
