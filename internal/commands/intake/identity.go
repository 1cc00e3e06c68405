package intake

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Identity returns text that changes when one of the files does, as far as size and time of change
// tell it: what [Source] wants to know of files.
func Identity(files ...fs.FileInfo) string {
	parts := make([]string, len(files))
	for i, info := range files {
		parts[i] = fmt.Sprintf("%d bytes of %s", info.Size(),
			info.ModTime().UTC().Format(time.RFC3339Nano))
	}
	return strings.Join(parts, ", ")
}
