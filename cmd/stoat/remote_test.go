package main

import "testing"

func TestRemote_saysHowToGetTheOtherProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	fails(t, execute(t, "", "remote", "status", "store"), exitError, "stoat-remote",
		"go install github.com/stoatdb/stoat/remote/s3/cmd/stoat-remote@latest")
}
