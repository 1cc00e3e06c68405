package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/replica"
	"github.com/stoatdb/stoat/tuple"
)

// rightNames are the words for rights. It is immutable.
var rightNames = []struct {
	name  string
	right replica.Right
}{
	{"relay", replica.Relay}, {"read", replica.Read}, {"write", replica.Write},
	{"admin", replica.Admin}, {"invite", replica.Invite}, {"checkpoint", replica.Checkpoint},
}

// parseRight returns the right that a text like write+invite stands for.
func parseRight(text string) (right replica.Right, err error) {
	for word := range strings.SplitSeq(text, "+") {
		found := false
		for _, r := range rightNames {
			if r.name == word {
				right, found = right|r.right, true
			}
		}
		if !found {
			return 0, cmdline.Usagef("%q is no right: want relay, read, write or admin, and "+
				"perhaps +invite or +checkpoint", word)
		}
	}
	return right, nil
}

// parsePrincipal returns to whom a right is granted.
func parsePrincipal(text string) (replica.Principal, error) {
	if text == "anyone" {
		return replica.Anyone, nil
	}
	return parseDevice(text)
}

// scopeFlags are what limits a grant.
type scopeFlags struct {
	collections   []string
	prefix        string
	fields        string
	own, noDelete bool
}

// scopes returns the scopes of a grant; none for the whole space.
func (f *scopeFlags) scopes() ([]replica.Scope, error) {
	if len(f.collections) == 0 && f.prefix == "" && f.fields == "" && !f.own && !f.noDelete {
		return nil, nil
	}
	scope := replica.In(f.collections...)
	if f.prefix != "" {
		keys, err := parseKey(f.prefix)
		if err != nil {
			return nil, err
		}
		encoded, err := tuple.Encode(tupleOf(keys[0])...)
		if err != nil {
			return nil, cmdline.Usagef("-prefix %s: %v", f.prefix, err)
		}
		scope = scope.Prefix(encoded)
	}
	if f.fields != "" {
		scope = scope.Fields(namesOf(f.fields)...)
	}
	if f.own {
		scope = scope.OwnOnly()
	}
	if f.noDelete {
		scope = scope.NoDelete()
	}
	return []replica.Scope{scope}, nil
}

func grantCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	var f scopeFlags
	flags.Func("in", "only the `COLLECTION`; repeatable", func(name string) error {
		f.collections = append(f.collections, name)
		return errIfEmpty(name)
	})
	textFlag(flags, &f.prefix, "prefix", "only records whose keys begin with the fields of `KEY`")
	textFlag(flags, &f.fields, "fields", "only these `FIELDS`, like title,done")
	flags.BoolVar(&f.own, "own", false, "only records whose keys begin with the id of the device")
	flags.BoolVar(&f.noDelete, "no-delete", false, "no deletions")
	return &command{
		Name: "grant", Arguments: "DB TO RIGHT", Summary: "give a device a right",
		Details: `
TO is the id of a device, or "anyone". RIGHT is relay, read, write or admin, and
each includes those before it. A relay stores entries and passes them on. With
+invite, the device may grant others up to write, and with +checkpoint make
checkpoints. The grant is an entry of this replica: it counts on other replicas
once it has arrived there.`,
		Min: 3, Max: 3, Flags: flags,
		Run: func(_ context.Context, _ *stdio, args []string) error {
			to, err := parsePrincipal(args[1])
			if err != nil {
				return err
			}
			right, err := parseRight(args[2])
			if err != nil {
				return err
			}
			scopes, err := f.scopes()
			if err != nil {
				return err
			}
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				if args[1] == space.ID().String() {
					return cmdline.Usagef("TO is the space: give the id that \"stoat replica device\" shows there")
				}
				return db.Update(func(tx *stoat.Tx) error {
					return space.Grant(tx, to, right, scopes...)
				})
			})
		},
	}
}

func revokeCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		Name: "revoke", Arguments: "DB FROM", Summary: "end all rights of a device",
		Details: `
FROM is the id of a device, or "anyone". What this replica has of the device's
logs now still counts; nothing that arrives later does, whatever its time. So
sync first, to keep what the device has written.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			from, err := parsePrincipal(args[1])
			if err != nil {
				return err
			}
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				err := db.Update(func(tx *stoat.Tx) error { return space.Revoke(tx, from) })
				if err != nil {
					return fmt.Errorf("revoke the rights of %s: %w", args[1], err)
				}
				return nil
			})
		},
	}
}

func endorseCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		Name: "endorse", Arguments: "DB LOG:SEQ",
		Summary: "agree to what another root granted or revoked",
		Details: `
LOG:SEQ is the entry of the grant, which "stoat replica grants" shows, or of the
revocation, which "stoat replica log" shows. This device must be a root. A grant
or revocation by a root counts once as many roots as the quorum of the space
have made or endorsed it.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(_ context.Context, _ *stdio, args []string) error {
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				return db.Update(func(tx *stoat.Tx) error {
					log, seq, alone, err := findEntry(space, tx, args[1])
					if err == nil && alone {
						err = cmdline.Usagef("%s: want LOG:SEQ, like 0a1b2c:7", args[1])
					}
					if err != nil {
						return err
					}
					return space.Endorse(tx, replica.EntryID{Log: log.Log, Seq: seq})
				})
			})
		},
	}
}
