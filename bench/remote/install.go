package remote

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Versions of the other systems.
const (
	litestreamVersion = "v0.5.18"
	slateVersion      = "0.18.0"
)

// sources are the programs in other languages. They are built in the user's cache, which is not
// ours to keep in the source tree. It is immutable: files of the build.
//
//go:embed peers
var sources embed.FS

const slateSources = "peers/slatedb"

// errInstall says what to do about a missing program.
var errInstall = errors.New("it is not installed: go run -C bench . install")

// home returns the folder in the user's cache for a system.
func home(name string) (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "stoat-bench", "peers", name), err
}

// installed returns the path of a program in the folder of a system.
func installed(system, program string) (string, error) {
	dir, err := home(system)
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	path := filepath.Join(dir, program)
	if _, err := os.Stat(path); err != nil {
		return path, errInstall
	}
	return path, nil
}

// litestreamProgram returns the path of Litestream.
func litestreamProgram() (string, error) {
	return installed(filepath.Join("litestream", litestreamVersion), "litestream")
}

// slateProgram returns the path of our program with SlateDB, built from these sources.
func slateProgram() (string, error) {
	sum, err := slateSum()
	if err != nil {
		return "", err
	}
	return installed(filepath.Join("slatedb", sum), "slatedb-peer")
}

// slateSum returns a name for the sources of our program with SlateDB.
func slateSum() (string, error) {
	hash := sha256.New()
	err := fs.WalkDir(sources, slateSources, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := sources.ReadFile(name)
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
		return err
	})
	return hex.EncodeToString(hash.Sum(nil)[:8]), err
}

// Install builds Litestream with Go, and our program with SlateDB with Cargo: ten minutes of two
// processors. What cannot be built here is left out. What the tools say goes to out.
func Install(out io.Writer) error {
	for _, peer := range []struct {
		name, tool string
		program    func() (string, error)
		build      func(out io.Writer) error
	}{
		{"Litestream", "go", litestreamProgram, buildLitestream},
		{"SlateDB", "cargo", slateProgram, buildSlate},
	} {
		if _, err := peer.program(); err == nil {
			continue
		}
		if _, err := exec.LookPath(peer.tool); err != nil {
			fmt.Fprintf(out, "%s is left out: it needs %s\n", peer.name, peer.tool)
			continue
		}
		if err := peer.build(out); err != nil {
			return fmt.Errorf("install %s: %w", peer.name, err)
		}
	}
	return nil
}

func buildLitestream(out io.Writer) error {
	path, err := litestreamProgram()
	if !errors.Is(err, errInstall) {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	cmd := exec.Command("go", "install",
		"github.com/benbjohnson/litestream/cmd/litestream@"+litestreamVersion)
	cmd.Dir = dir // outside of this module, whose dependencies are others
	cmd.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=", "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Run()
}

func buildSlate(out io.Writer) error {
	path, err := slateProgram()
	if !errors.Is(err, errInstall) {
		return err
	}
	base, err := home("slatedb")
	if err != nil {
		return err
	}
	if err := copySources(filepath.Join(base, "src")); err != nil {
		return err
	}
	cmd := exec.Command("cargo", "build", "--release", "--locked")
	cmd.Dir = filepath.Join(base, "src")
	cmd.Env = append(os.Environ(), "CARGO_TARGET_DIR="+filepath.Join(base, "target"))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return err
	}
	built, err := os.ReadFile(filepath.Join(base, "target", "release", filepath.Base(path)))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, built, 0o700)
}

// copySources writes the sources of our program with SlateDB to a folder.
func copySources(dir string) error {
	return fs.WalkDir(sources, slateSources, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		part, err := filepath.Rel(slateSources, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, part)
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		content, err := sources.ReadFile(name)
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, content) {
			return nil // or else it is built again
		}
		return os.WriteFile(to, content, 0o600)
	})
}
