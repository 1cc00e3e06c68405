package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/replica"
)

// grantJSON is a grant.
type grantJSON struct {
	Log    string   `json:"log"`
	Seq    uint64   `json:"seq"`
	By     string   `json:"by"`
	To     string   `json:"to"`
	Right  string   `json:"right"`
	Scopes []string `json:"scopes,omitempty"`
	Active bool     `json:"active"`
	Void   string   `json:"void,omitempty"`
}

func grantsCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	asJSON := jsonFlag(flags)
	return &command{
		Name: "grants", Arguments: "DB", Summary: "list who may do what",
		Details: `
The roots of a space may do everything, and are not listed.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			return o.view(args[0], func(space *replica.Space, tx *stoat.Tx) error {
				t := &columns.Table{Out: s.out, Widths: []int{shortDigits + 6, shortDigits, 17}}
				for g, err := range space.Grants(tx) {
					if err != nil {
						return err
					}
					if err := printGrant(s, t, &g, *asJSON); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func printGrant(s *stdio, t *columns.Table, g *replica.Granted, asJSON bool) error {
	var scopes []string
	for _, scope := range g.Scopes {
		scopes = append(scopes, fmt.Sprint(scope))
	}
	void := ""
	if g.Void != nil {
		void = g.Void.Error()
	}
	to := fmt.Sprint(g.To)
	if asJSON {
		return writeJSON(s, grantJSON{g.ID.Log.String(), g.ID.Seq, g.By.String(), to, rightText(g.Right),
			scopes, g.Active(), void})
	}
	state := strings.Join(scopes, "; ")
	switch {
	case void != "":
		state = "void: " + void
	case !g.Active():
		state = "revoked"
	case state == "":
		state = "the whole space"
	}
	return t.Row(shortEntry(g.ID), to, rightText(g.Right), state)
}

// rightText returns a right as parseRight reads it.
func rightText(right replica.Right) string {
	return strings.ReplaceAll(right.String(), ", ", "+")
}
