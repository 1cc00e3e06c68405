package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/replica"
)

func checkpointCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		Name: "checkpoint", Arguments: "DB", Summary: "make a checkpoint of what all devices have seen",
		Details: `
"stoat replica prune" can forget the history behind a checkpoint. It takes the
right to make checkpoints, and counts once it has been synced or exported, and
all other devices that have that right have written something after they have
seen it. What a device did that has not seen it is void then; the device does it
again by itself.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, _ *stdio, args []string) error {
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				return db.Update(space.Checkpoint)
			})
		},
	}
}

func pruneCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		Name: "prune", Arguments: "DB", Summary: "forget the history behind the last checkpoint",
		Details: `
The state at the checkpoint is compared with its root first; if they differ,
nothing is removed. The records stay. Their history before the checkpoint is
gone here. Replicas that lack some of it, as new ones do, cannot take it from
here any more: keep one replica that is not pruned.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				return prune(s, space, db)
			})
		},
	}
}

// prune prunes a space, if there is a checkpoint that counts.
func prune(s *stdio, space *replica.Space, db *stoat.DB) error {
	var st *statusJSON
	err := db.View(func(tx *stoat.Tx) (err error) {
		st, err = measure(space, tx)
		return err
	})
	if err != nil {
		return err
	}
	if st.Checkpoints == 0 {
		return fmt.Errorf("no checkpoint counts yet: \"stoat replica checkpoint\" makes one, which "+
			"counts when it has been synced or exported, and the other devices agree (%w)", errNotFound)
	}
	err = space.Prune()
	if errors.Is(err, replica.ErrMismatch) {
		err = fmt.Errorf("%w; run \"stoat replica verify\"", err)
	}
	if err == nil {
		_, err = fmt.Fprintf(s.out, "pruned behind checkpoint %d\n", st.Checkpoints)
	}
	return err
}
