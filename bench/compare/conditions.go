package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/bench/report"
	"github.com/stoatdb/stoat/bench/suite"
)

// conditions are what two results must have in common to be compared.
type conditions struct {
	suite   string
	storage string
	sync    bool
}

func conditionsOf(r *report.Result) conditions {
	return conditions{r.Suite, r.Settings.Storage, r.Settings.Sync}
}

// unlike returns the results that were not measured in the same way in both reports, with a note
// for each difference.
func unlike(old, new *report.Report) (apart map[conditions]bool, notes []string) {
	apart = make(map[conditions]bool)
	for _, a := range old.Results {
		for _, b := range new.Results {
			if conditionsOf(a) != conditionsOf(b) {
				continue
			}
			if found := differences(a, b); len(found) > 0 {
				apart[conditionsOf(a)] = true
				notes = append(notes, found...)
			}
		}
	}
	return apart, notes
}

// differences returns a note for each difference in how two results were measured.
func differences(old, new *report.Result) []string {
	s, t := old.Settings, new.Settings
	var notes []string
	for _, d := range []struct {
		what     string
		old, new string
	}{
		{"file system", old.FileSystem, new.FileSystem},
		{"profile", s.Profile, t.Profile},
		{"-n", fmt.Sprint(s.N), fmt.Sprint(t.N)},
		{"seed", fmt.Sprint(s.Seed), fmt.Sprint(t.Seed)},
		{"order", string(s.Order), string(t.Order)},
		{"data", s.Data, t.Data},
		{"memory", bytesOf(s.Memory), bytesOf(t.Memory)},
	} {
		if d.old != d.new {
			notes = append(notes, fmt.Sprintf("Suite %s is not compared: its %s was %s and is now %s.",
				old.Suite, d.what, name(d.old), name(d.new)))
		}
	}
	return notes
}

// bytesOf returns a limit of memory as text; empty if there is none.
func bytesOf(limit int64) string {
	if limit == 0 {
		return ""
	}
	return report.Format(float64(limit), suite.Bytes)
}

// name returns a setting, or a word for an empty one.
func name(setting string) string {
	if setting == "" {
		return "the default"
	}
	return setting
}

// source is an engine in a suite, with the settings that the suite gives it.
type source struct{ suite, engine string }

// otherSettings returns the engines whose settings differ between the reports, with notes.
func otherSettings(old, new *report.Report) (changed map[source]bool, notes []string) {
	changed = make(map[source]bool)
	for _, a := range old.Results {
		for _, b := range new.Results {
			if conditionsOf(a) != conditionsOf(b) {
				continue
			}
			for _, e := range a.Engines {
				from := source{a.Suite, e.Name}
				if !slices.ContainsFunc(b.Engines, func(f report.Engine) bool {
					return f.Name == e.Name && f.Settings != e.Settings
				}) || changed[from] {
					continue
				}
				changed[from] = true
				notes = append(notes, fmt.Sprintf("%s is not compared in suite %s: its settings differ.",
					e.Name, a.Suite))
			}
		}
	}
	return changed, notes
}

// peersOf returns the engines with the same code in both reports: they come from a released module,
// and have the same version and settings in every suite.
func peersOf(old, new *report.Report) map[source]bool {
	const changed = "changed"
	known := make(map[source]string)
	for _, r := range []*report.Report{old, new} {
		for _, result := range r.Results {
			for _, e := range result.Engines {
				from := source{result.Suite, e.Name}
				text := e.Version + " " + e.Settings
				if was, ok := known[from]; ok && was != text || !released(e.Version) {
					text = changed
				}
				known[from] = text
			}
		}
	}
	peers := make(map[source]bool)
	for from, text := range known {
		peers[from] = text != changed
	}
	return peers
}

// released reports whether a text is the version of a release.
func released(version string) bool {
	version = strings.TrimPrefix(version, "v")
	return version != "" && version[0] >= '0' && version[0] <= '9'
}
