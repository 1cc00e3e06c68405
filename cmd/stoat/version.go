package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

func versionCommand() *command {
	return &command{
		Name:    "version",
		Summary: "print the version of this program",
		Flags:   cmdline.NewFlags(),
		Run: func(s *stdio, _ []string) error {
			fmt.Fprintf(s.out, "stoat %s %s %s/%s\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}

// version returns the module's version, with the revision where the build recorded one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown version)"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && info.Main.Version == "(devel)" {
			return info.Main.Version + " " + setting.Value
		}
	}
	return info.Main.Version
}
