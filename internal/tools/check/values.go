package check

import (
	"github.com/stoatdb/stoat/internal/valuelog"
)

// values is the value files of a version, each opened when it is first needed.
type values struct {
	config  *Config
	found   *Findings
	opened  map[uint64]*valuelog.File // by number; nil for those that cannot be used
	release []func()
}

func newValues(c *Config, found *Findings) *values {
	return &values{config: c, found: found, opened: make(map[uint64]*valuelog.File)}
}

// of returns a value file of the version; nil if it cannot be used, or there is none.
func (v *values) of(number uint64) *valuelog.File {
	file, known := v.opened[number]
	if known {
		return file
	}
	if meta, ok := v.config.Snapshot.Levels.Version.ValueFile(number); ok {
		opened, release, err := v.config.Snapshot.Levels.Values(number).Anew() // verifies its header
		if err != nil {
			v.found.Add(v.config.Values(meta), err)
		} else {
			file, v.release = opened, append(v.release, release)
		}
	}
	v.opened[number] = file
	return file
}

// openAll verifies the headers of all that were not needed.
func (v *values) openAll() {
	for _, f := range v.config.Snapshot.Levels.Version.ValueFiles {
		v.of(f.Number)
	}
}

// close releases what was opened.
func (v *values) close() {
	for _, release := range v.release {
		release()
	}
}
