package stoat

import (
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// OpenVolatile is [OpenMemory] with an engine tuned for the occasion.
func OpenVolatile(opts *Options, t engine.Tuning) (*DB, error) {
	o, err := opts.engine()
	if err != nil {
		return nil, err
	}
	o.Tuning, o.Volatile = t, true
	return start(memfs.New(), "memory", o)
}
