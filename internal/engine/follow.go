package engine

import (
	"fmt"

	"github.com/stoatdb/stoat/internal/commit"
	"github.com/stoatdb/stoat/internal/folder"
)

// Visible returns the number of the newest commit that readers see, or saw last if the engine is
// closed.
func (e *Engine) Visible() uint64 {
	if e.withheld.on {
		return e.withheld.shown.Load()
	}
	return e.Local()
}

// Local returns the number of the newest commit that is as durable here as the options ask for. It
// is visible, unless it is withheld.
func (e *Engine) Local() uint64 { return e.state.Load().Commit }

// Follow returns a follower of the commits from now on, and of those that are still in the log.
func (e *Engine) Follow() (*commit.Follower, error) { return e.follow((*commit.Pipeline).Follow) }

// FollowLocal is Follow, but the follower does not wait for commits that are withheld.
func (e *Engine) FollowLocal() (*commit.Follower, error) {
	return e.follow((*commit.Pipeline).FollowLocal)
}

func (e *Engine) follow(
	begin func(*commit.Pipeline, commit.Log) *commit.Follower,
) (*commit.Follower, error) {
	if e.options.ReadOnly && !e.options.Volatile {
		return nil, fmt.Errorf("it does not change; open it without Options.ReadOnly to watch it: %w",
			ErrReadOnly)
	}
	e.appending.Lock()
	defer e.appending.Unlock()
	if e.closed.Load() {
		return nil, ErrClosed
	}
	return begin(e.commits, commit.Log{
		Files: e.folder, Dir: e.dir, Database: e.database,
		Segments: func() ([]uint64, error) {
			if e.options.Volatile {
				return nil, nil
			}
			found, err := survey(e.folder, e.dir)
			return found.Of(folder.Log), err
		},
	}), nil
}
