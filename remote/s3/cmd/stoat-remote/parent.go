package main

import (
	"context"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
)

const parentFlag = "parent"

// parents is the values of a flag that names the store of the parent of a clone, then that of its
// parent, and so on.
type parents []string

// String implements [flag.Value].
func (p *parents) String() string { return strings.Join(*p, " ") }

// Set implements [flag.Value].
func (p *parents) Set(store string) error {
	*p = append(*p, store)
	return nil
}

// cloned lets commands read clones.
func cloned(commands ...*command) []*command {
	for _, c := range commands {
		c.Flags.Var(&parents{}, parentFlag, "`STORE` has the parent of a clone; repeat it for its parent")
	}
	return commands
}

// readParents takes the stores of parents for the command from its flags.
func (s *stdio) readParents(c *command) {
	if f := c.Flags.Lookup(parentFlag); f != nil {
		s.parents = *f.Value.(*parents)
	}
}

// withParents returns a store, or that of a clone of what is in it.
func (s *stdio) withParents(
	ctx context.Context, store objstore.Store, err error,
) (objstore.Store, error) {
	var parent objstore.Store
	for _, arg := range slices.Backward(s.parents) {
		opened, openErr := openStore(arg)
		if opened, openErr = s.decrypted(ctx, opened, openErr); openErr != nil {
			return nil, openErr
		}
		if parent != nil {
			opened = remote.CloneStore(opened, parent)
		}
		parent = opened
	}
	if err != nil || parent == nil {
		return store, err
	}
	return remote.CloneStore(store, parent), nil
}
