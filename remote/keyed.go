package remote

import (
	"errors"
	"fmt"
)

// errKeyed refuses the key of a database before anything is asked of the store: what is shipped
// could be read without it.
var errKeyed = fmt.Errorf("option Database.Key is set, and databases in object storage cannot be "+
	"encrypted yet; encrypt at the store: %w", errors.ErrUnsupported)
