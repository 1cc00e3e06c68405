package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// render returns the page of a report, after checking that its tags are balanced and that it loads
// nothing.
func render(t *testing.T, r *report.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, r, findSample); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	tokens := xml.NewDecoder(strings.NewReader(page)) // the page is written so that it is XML, too
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("not well formed: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok {
			checkElement(t, start)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "ZgotmplZ", "%!", "@import", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("%q in the page", bad)
		}
	}
	return page
}

// checkElement fails the test if an element loads or runs anything.
func checkElement(t *testing.T, e xml.StartElement) {
	t.Helper()
	switch e.Name.Local {
	case "script", "link", "img", "iframe", "object", "embed", "base", "image", "use":
		t.Errorf("an element %s", e.Name.Local)
	}
	for _, a := range e.Attr {
		name := a.Name.Local
		if name == "src" || name == "style" || strings.HasPrefix(name, "on") {
			t.Errorf("an attribute %s", name)
		}
		if name == "href" && !strings.HasPrefix(a.Value, "#suite-") {
			t.Errorf("a link to %q", a.Value)
		}
	}
}

func TestWrite_showsEverythingMeasured(t *testing.T) {
	r := sampleReport()
	page := render(t, r)
	wants := []string{"Example 9000, 2 CPUs", "24.0\u202fGiB", "linux/amd64 6.1", "go1.26.8",
		"2 January 2026", "librocksdb-dev is not installed", "signal: killed: out of memory",
		"fast (ext4), synced", "slow (ext4), not synced", "write_bulk, at 1,000,000 records",
		"cold", "binary+names", "16Ki", "What the study published", "records →", "seconds →",
		"badger at most 0.01 × bbolt or stoat", "0 of 1", "× stoat</td>"}
	wants = append(wants, sampleEngines()...)
	for _, s := range sampleSuites() {
		wants = append(wants, s.Name, s.About)
		for _, row := range s.Rows {
			if row.Name == "never_measured" {
				continue
			}
			wants = append(wants, row.Name, row.About)
			wants = append(wants, row.States...)
		}
	}
	text := strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(page)
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, bad := range []string{"http://", "https://", "never_measured"} {
		if strings.Contains(page, bad) {
			i := strings.Index(page, bad)
			t.Errorf("%q in the page: %s", bad, page[max(0, i-200):i+50])
		}
	}
}

func TestWrite_linksToSectionsThatExist(t *testing.T) {
	page := render(t, sampleReport())
	links := regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(links) < len(sampleSuites()) {
		t.Errorf("only %d links", len(links))
	}
	for _, link := range links {
		if strings.Count(page, `id="`+link[1]+`"`) != 1 {
			t.Errorf("no place, or several, for the link to %s", link[1])
		}
	}
}

func TestWrite_escapesWhatOthersHaveChosen(t *testing.T) {
	const evil = `</style><script>alert("x")</script>"'><img src=x onerror=y>` +
		"\x1b[31m\x00\xff\u0085"
	r := sampleReport()
	r.Notes = []string{evil}
	r.Machine.CPU, r.Machine.System = evil, evil
	for _, result := range r.Results {
		result.Settings.Storage, result.FileSystem, result.Settings.Data = evil, evil, evil
		result.Settings.Rows = []string{evil}
		result.Failures = []report.Failure{{Engine: evil, Task: evil, Round: 1, Error: evil}}
		for i := range result.Engines {
			if result.Engines[i].Name == "bbolt" {
				result.Engines[i] = report.Engine{Name: evil, Version: evil, Settings: evil}
			}
		}
		for i := range result.Measurements {
			if result.Measurements[i].Engine == "bbolt" {
				result.Measurements[i].Engine = evil
			}
		}
	}
	page := render(t, r) // an element or an attribute of the name would fail
	if !strings.Contains(page, "&lt;script&gt;alert(") {
		t.Error("the names are not in the page")
	}
	if strings.ContainsAny(page, "\x1b\x00\u0085") {
		t.Error("control characters in the page")
	}
}

func TestWrite_survivesEmptyReports(t *testing.T) {
	if page := render(t, &report.Report{}); !strings.Contains(page, "Nothing was measured") {
		t.Error("the page does not say that it is empty")
	}
	engines := []report.Engine{{Name: "stoat"}, {Name: "bbolt"}}
	var results []*report.Result
	for _, s := range sampleSuites() {
		results = append(results, &report.Result{Suite: s.Name},
			&report.Result{Suite: s.Name, Engines: engines},
			&report.Result{Suite: s.Name, Engines: engines, Measurements: []suite.Measurement{
				{Engine: "stoat", Round: 1, At: suite.At{Row: s.Rows[0].Name}},
			}})
	}
	page := render(t, &report.Report{Results: results})
	if !strings.Contains(page, "No samples of stoat, bbolt.") {
		t.Error("the page does not name the engines without samples")
	}
}

func TestWrite_survivesStrangeSamples(t *testing.T) {
	values := [][]float64{{0}, {1}, {-5}, {1e-300}, {1e300}, {math.MaxFloat64}, {0, 1e300},
		{3, 3, 3}}
	for _, ours := range values {
		for _, theirs := range values {
			r := &report.Report{}
			for _, s := range sampleSuites() {
				result := &report.Result{Suite: s.Name,
					Engines: []report.Engine{{Name: "stoat"}, {Name: "bbolt"}, {Name: "lmdb"}}}
				for _, row := range s.Rows {
					at := suite.At{Row: row.Name}
					if len(row.States) > 0 {
						at.State = row.States[0]
					}
					result.Measurements = append(result.Measurements,
						suite.Measurement{Engine: "stoat", Round: 1, At: at, Values: ours})
					at.X = 1e9
					result.Measurements = append(result.Measurements,
						suite.Measurement{Engine: "bbolt", Round: 1, At: at, Values: theirs},
						suite.Measurement{Engine: "stoat", Round: 2, At: at, Values: theirs})
				}
				r.Results = append(r.Results, result)
			}
			render(t, r)
			if t.Failed() {
				t.Fatalf("with %v and %v", ours, theirs)
			}
		}
	}
}

func TestWrite_ofPeersOnlyComparesNothing(t *testing.T) {
	r := sampleReport()
	for _, result := range r.Results {
		result.Engines = result.Engines[1:]
	}
	if page := render(t, r); strings.Contains(page, "Stoat and the best peer") {
		t.Error("a comparison with an engine that was not measured")
	}
}

func TestWrite_marksEnginesThatFailed(t *testing.T) {
	r := sampleReport() // lmdb failed in the first result
	page := render(t, r)
	if !strings.Contains(page, "lmdb†</th>") || !strings.Contains(page, "† failed in some turns") {
		t.Error("no mark, or nothing about it")
	}
	for _, result := range r.Results {
		result.Failures = nil
	}
	if page := render(t, r); strings.Contains(page, "†") {
		t.Error("a mark in a report without failures")
	}
}

func TestWrite_comparesNothingInUnrankedStates(t *testing.T) {
	r := sampleReport()
	size := sampleSuites()[0].Rows[4]
	s := suite.Suite{Name: "ssb", Rows: []suite.Row{size}}
	s.Rows[0].Unranked = []string{"allocated"}
	v := &view{report.NewFigures(r.Results[0]), s}
	all := v.versus(v.Lines(s))
	if !strings.HasPrefix(all.Summary, "Of 1 lines") || len(all.Groups[0].Lines) != 1 {
		t.Errorf("%+v", all)
	}
	for _, l := range v.medians(v.Lines(s)).Groups[0].Lines {
		var stars int
		for _, c := range l.Cells {
			if c.Best {
				stars++
			}
		}
		if ranked := l.Label == "apparent"; ranked != (stars == 1) || ranked != (l.Ratio != "–") {
			t.Errorf("%s: %d stars, ratio %s", l.Label, stars, l.Ratio)
		}
	}
}

func TestWrite_failsForUnknownSuitesAndFullDisks(t *testing.T) {
	r := &report.Report{Results: []*report.Result{{Suite: "unheard"}}}
	err := Write(io.Discard, r, findSample)
	if err == nil || !strings.Contains(err.Error(), "unheard") {
		t.Errorf("error %v", err)
	}
	if err := Write(fullDisk{}, sampleReport(), findSample); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

var errFull = errors.New("disk full")

// fullDisk is a writer that cannot write.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestPublished_hasTheTablesOfEverySuite(t *testing.T) {
	for _, s := range sampleSuites() {
		p := published(s.Name)
		if p.Text == "" || len(p.Tables) == 0 {
			t.Errorf("nothing about the study of %s", s.Name)
		}
		for _, table := range p.Tables {
			for _, row := range table.Rows {
				if len(row) != len(table.Heads) {
					t.Errorf("%s: %d cells below %d heads: %q", table.Caption, len(row),
						len(table.Heads), row)
				}
			}
		}
	}
	if published("mine").Text != "" {
		t.Error("a study of a suite that has none")
	}
}
