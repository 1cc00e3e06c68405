package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// getProgram is a shell command that installs the program stoat.
const getProgram = "go install github.com/stoatdb/stoat/cmd/stoat@latest"

// command is a command of the program stoat, as "stoat commands" describes it.
type command struct {
	Name      string        `json:"name"`
	Arguments string        `json:"arguments"` // as in the help: "DB KEY"
	Summary   string        `json:"summary"`
	Flags     []commandFlag `json:"flags"`
}

// commandFlag is one flag of a command.
type commandFlag struct {
	Name   string `json:"name"`
	Switch bool   `json:"switch"` // takes no value
}

// onDatabase reports whether the command's first argument is the database.
func (c *command) onDatabase() bool {
	first, _, _ := strings.Cut(c.Arguments, " ")
	return first == "DB"
}

// has reports whether the command has a flag with the name.
func (c *command) has(name string) bool {
	return slices.ContainsFunc(c.Flags, func(f commandFlag) bool { return f.Name == name })
}

// takesValue reports whether a word is a flag whose value is the next word.
func (c *command) takesValue(word string) bool {
	name, dashed := strings.CutPrefix(word, "-")
	name = strings.TrimPrefix(name, "-")
	return dashed && slices.ContainsFunc(c.Flags, func(f commandFlag) bool {
		return f.Name == name && !f.Switch
	})
}

// catalog is the commands of the program stoat.
type catalog []*command

// loadCatalog gets the commands from the program.
func loadCatalog(program string) (catalog, error) {
	c := exec.Command(program, "commands")
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("the program %s, which runs the commands, is not in PATH; "+
			"install it with\n  %s", program, getProgram)
	}
	if err != nil {
		return nil, fmt.Errorf("%s commands: %w: %s", program, err, bytes.TrimSpace(complaint.Bytes()))
	}
	var all catalog
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("%s commands: %w; get a newer one with\n  %s", program, err, getProgram)
	}
	return slices.DeleteFunc(all, func(c *command) bool { return c.Name == "shell" }), nil
}

// find returns the command with the name, or nil.
func (c catalog) find(name string) *command {
	for _, one := range c {
		if one.Name == name {
			return one
		}
	}
	return nil
}
