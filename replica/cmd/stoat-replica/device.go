package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func deviceCommand() *command {
	flags := cmdline.NewFlags()
	asJSON := jsonFlag(flags)
	return &command{
		Name: "device", Arguments: "[FILE]", Summary: "make the key of this device, or show its id",
		Details: `
The key signs what this device writes, and proves to others which device it is.
Whoever has the file can write in its name, so only you can read it; keep a copy
in a safe place. Without FILE, it is the one in your configuration directory,
which other commands use unless they have -device. The id is public: others need
it to connect to this device, and to grant it rights.`,
		Max: 1, Flags: flags,
		Run: func(_ context.Context, s *stdio, args []string) error {
			name := defaultKeyFile()
			if len(args) == 1 {
				name = args[0]
			}
			if name == "" {
				return cmdline.Usagef("give the name of the key file")
			}
			device, err := loadKeyFile(name)
			made := errors.Is(err, fs.ErrNotExist)
			if made {
				device, err = makeKeyFile(name)
			}
			if err != nil {
				return err
			}
			if *asJSON {
				return writeJSON(s, struct {
					Device string `json:"device"`
					File   string `json:"file"`
					Made   bool   `json:"made"`
				}{device.ID().String(), name, made})
			}
			_, err = fmt.Fprintln(s.out, device.ID())
			return err
		},
	}
}
