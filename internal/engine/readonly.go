package engine

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// openRetries bounds how often a read-only open starts over because a writer in another process
// has replaced files under it.
const openRetries = 20

// openReadOnly takes a picture of the files without a lock. All tables are opened at once, so that
// a writer who removes them later does no harm.
func (e *Engine) openReadOnly() error {
	var err error
	for range openRetries {
		err = e.loadReadOnly()
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, corrupt.Err) {
			break
		}
		if _, surveyErr := survey(e.fs, e.dir); surveyErr != nil {
			break // the folder itself is missing
		}
	}
	return err
}

func (e *Engine) loadReadOnly() error {
	found, err := survey(e.fs, e.dir)
	if err != nil {
		return err
	}
	state, err := e.loadManifest(found)
	if err != nil {
		return err
	}
	if state == nil {
		return fmt.Errorf("no database in %s: %w", e.dir, fs.ErrNotExist)
	}
	version, full, err := e.replay(state, found.logs)
	if err != nil {
		return err
	}
	e.publishRecovered(version, full)
	return openAll(e.state.Load().Levels)
}
