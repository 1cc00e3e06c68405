package history

import (
	"fmt"

	"github.com/stoatdb/stoat/remote/internal/object"
)

// EpochShift is by how much an epoch is shifted to be part of the numbers of files.
const EpochShift = 36

// epochMax is the highest epoch that leaves numbers of files for the writer.
const epochMax = 1<<(62-EpochShift) - 1

// WantEpoch returns an error if there is no epoch for another claim after a state.
func WantEpoch(after *object.State) error {
	if after.Epoch >= epochMax {
		return fmt.Errorf("the database was opened %d times: copy it to another store", after.Epoch)
	}
	return nil
}
