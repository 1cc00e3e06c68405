package main

import "testing"

func TestStudio_saysHowToGetTheOtherProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	fails(t, execute(t, "", "studio", "my.db"), exitError, "stoat-studio", "go install")
}

func TestStudio_hasTheOtherProgramDoIt(t *testing.T) {
	installProgram(t, studioProgram)
	r := execute(t, "", "studio", "my.db", "-write", "-listen", "127.0.0.1:80")
	if r.code != 4 || r.err != "stoat-studio: no\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
	equal(t, r.out, "<-listen=127.0.0.1:80>\n<-write=true>\n<-->\n<my.db>\n")
	equal(t, execute(t, "", "studio", "-x.db").out, "")
	equal(t, execute(t, "", "studio", "--", "-x.db").out, "<-->\n<-x.db>\n")
}
