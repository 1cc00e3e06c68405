package sync

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
	"path"
	"path/filepath"

	"github.com/stoatdb/stoat/bench/engine"
)

// scripts are the programs for Node. They run from a copy in the user's cache, beside their
// packages, which are not ours to keep in the source tree. It is immutable: files of the build.
//
//go:embed peers
var scripts embed.FS

// Names of files beside a script.
const (
	lockFile = "package-lock.json"
	doneFile = "installed" // has the digest of the lock file whose packages are there
)

// nodePeer is a system that is a script for Node.
type nodePeer struct {
	name, version, settings string
	most                    int // records of its largest first sync
}

func nodePeers() []nodePeer {
	return []nodePeer{
		{"pouchdb", "9.0.0", "adapter leveldb, which syncs with -sync always; no indexes; batches of" +
			" 1,000; the server is express-pouchdb 4.2.0", 100_000},
		{"automerge", "automerge-repo 2.5.6", "a document for each record, no indexes; storage nodefs," +
			" flushed at each change, and synced with -sync always; WebSocket", 1_000},
	}
}

// system returns the peer as a system, which is missing if its packages are not installed.
func (p nodePeer) system() system {
	s := system{most: p.most}
	s.About = engine.About{Name: p.name, Version: p.version, Settings: p.settings}
	dir, err := p.dir()
	if err == nil {
		s.command = []string{"node", filepath.Join(dir, "peer.mjs")}
		err = p.installed(dir)
	}
	if err != nil {
		s.Missing = err.Error()
	}
	return s
}

// dir returns the folder of the copies of the peer's files, which need not exist.
func (p nodePeer) dir() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "stoat-bench", "peers", p.name), err
}

// errInstall says what to do about missing packages.
var errInstall = errors.New("its packages are not installed: go run -C bench . install")

// installed returns an error unless the packages are there. It renews the copies of the scripts.
func (p nodePeer) installed(dir string) error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("it needs Node")
	}
	lock, err := p.lock()
	if err != nil {
		return err
	}
	if done, err := os.ReadFile(filepath.Join(dir, doneFile)); err != nil || string(done) != lock {
		return errInstall
	}
	return p.copyScripts(dir)
}

// lock returns the digest of the list of packages.
func (p nodePeer) lock() (string, error) {
	b, err := scripts.ReadFile(path.Join("peers", p.name, lockFile))
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// copyScripts writes the files of the peer, and what all peers share, to the cache.
func (p nodePeer) copyScripts(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := fs.Glob(scripts, path.Join("peers", p.name, "*"))
	if err != nil {
		return err
	}
	for _, name := range append(files, "peers/peer.mjs") {
		content, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path.Base(name))
		if path.Dir(name) == "peers" {
			to = filepath.Join(filepath.Dir(dir), path.Base(name))
		}
		if old, err := os.ReadFile(to); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.WriteFile(to, content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Install downloads the packages of the systems that need Node, with npm, in the versions that
// their lock files name. What npm says goes to out.
func Install(out io.Writer) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("the peers of suite sync need Node and npm: %w", err)
	}
	for _, p := range nodePeers() {
		if err := p.install(out); err != nil {
			return fmt.Errorf("install %s: %w", p.name, err)
		}
	}
	return nil
}

func (p nodePeer) install(out io.Writer) error {
	dir, err := p.dir()
	if err != nil {
		return err
	}
	if p.installed(dir) == nil {
		return nil
	}
	if err := p.copyScripts(dir); err != nil {
		return err
	}
	cmd := exec.Command("npm", "install", "--no-save", "--no-audit", "--no-fund")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Run(); err != nil {
		return err
	}
	lock, err := p.lock()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, doneFile), []byte(lock), 0o600)
}
