package main

import "testing"

func TestReplica_saysHowToGetTheOtherProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	fails(t, execute(t, "", "replica", "heads", "my.db"), exitError, "stoat-replica", "go install")
}

func TestReplica_passesAllArgumentsOn(t *testing.T) {
	installProgram(t, replicaProgram)
	r := execute(t, "", "replica", "sync", "-space", "team", "my.db", "--", "-x")
	if r.code != 4 || r.err != "stoat-replica: no\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
	equal(t, r.out, "<sync>\n<-space>\n<team>\n<my.db>\n<-->\n<-x>\n")
	equal(t, execute(t, "", "replica").out, "")
	equal(t, execute(t, "", "replica", "-json").out, "<-json>\n")
}
