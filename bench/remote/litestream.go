package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/tail"
)

// sqliteClient returns a program with SQLite, which lets Litestream replicate the database.
func sqliteClient() *client { return &client{open: openSQLite, restore: restoreSQLite} }

// sqliteFile is the name of the database in its folder, as package engine has it.
const sqliteFile = "sqlite.db"

// sqliteDatabase is an open database of SQLite and, unless it is local, Litestream beside it.
type sqliteDatabase struct {
	engine.Store
	litestream *exec.Cmd  // nil if it does not run
	ended      chan error // what became of it
	home       string     // of the socket: short, as a socket's path must be
	file       string
}

func openSQLite(_ context.Context, r *request) (database, error) {
	if r.Mode != modeLocal && r.Mode != modeAsync {
		return nil, errUnsupported
	}
	sqlite, err := engine.Find("sqlite-wal")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	store, err := sqlite.Open(r.Dir, engine.Options{Sync: true})
	if err != nil {
		return nil, err
	}
	d := &sqliteDatabase{Store: store, file: filepath.Join(r.Dir, sqliteFile)}
	if r.Mode == modeAsync {
		if err := d.replicate(r); err != nil {
			return nil, errors.Join(err, d.close())
		}
	}
	return d, nil
}

// replicate starts Litestream.
func (d *sqliteDatabase) replicate(r *request) error {
	var err error
	if d.home, err = os.MkdirTemp("", "litestream"); err != nil {
		return err
	}
	config, err := litestreamConfig(d.home, d.file, r)
	if err != nil {
		return err
	}
	program, err := litestreamProgram()
	if err != nil {
		return err
	}
	complaints := new(tail.Writer)
	d.litestream = litestreamCommand(program, "replicate", "-config", config)
	d.ended = make(chan error, 1)
	d.litestream.Stdout, d.litestream.Stderr = complaints, complaints
	if err := d.litestream.Start(); err != nil {
		d.litestream = nil
		return err
	}
	go func() { d.ended <- d.litestream.Wait() }()
	return d.awaitSocket(complaints)
}

// awaitSocket returns when Litestream listens.
func (d *sqliteDatabase) awaitSocket(complaints fmt.Stringer) error {
	for {
		if _, err := os.Stat(socketIn(d.home)); err == nil {
			return nil
		}
		select {
		case err := <-d.ended:
			d.litestream = nil
			return fmt.Errorf("litestream ended: %w: %s", err, complaints)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// litestreamCommand returns a command that does not see what this machine's user has set for AWS.
func litestreamCommand(program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "AWS_")
	})
	return cmd
}

// litestreamConfig writes a configuration for a database.
func litestreamConfig(home, file string, r *request) (path string, err error) {
	path = filepath.Join(home, "config.yml")
	const text = `socket: {enabled: true, path: %q}
logging: {level: warn}
dbs:
  - path: %q
    replica: {type: s3, bucket: %q, path: db, endpoint: "http://%s", region: us-east-1,
      access-key-id: %q, secret-access-key: %q, force-path-style: true}
`
	return path, os.WriteFile(path, fmt.Appendf(nil, text, socketIn(home), file, r.Bucket, r.Address,
		keyID, secret), 0o600)
}

func socketIn(home string) string { return filepath.Join(home, "socket") }

func (d *sqliteDatabase) put(key, value []byte) error {
	return d.Put(key, value, engine.ManyWriters)
}

func (d *sqliteDatabase) get(key []byte) ([]byte, error) {
	value, found, err := d.Copy(key, nil)
	if err == nil && !found {
		err = errors.New("it is missing")
	}
	return value, err
}

func (d *sqliteDatabase) load(from, to uint64) error {
	var pairs []engine.Pair
	for id := from; id < to; id++ {
		pairs = append(pairs, engine.Pair{Key: keyOf(id), Value: valueOf(id)})
	}
	return d.Write(pairs)
}

func (d *sqliteDatabase) scan() (records uint64, bytes int, err error) {
	err = d.Each(func(key, value []byte) error {
		records++
		bytes += len(key) + len(value)
		return nil
	})
	return records, bytes, err
}

// ship tells Litestream to replicate what there is.
func (d *sqliteDatabase) ship(context.Context) error {
	if d.litestream == nil {
		return nil
	}
	program, err := litestreamProgram()
	if err != nil {
		return err
	}
	out, err := litestreamCommand(program, "sync", "-wait", "-timeout", "600", "-socket",
		socketIn(d.home), d.file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("sync: %w: %s", err, out)
	}
	return nil
}

// close ends Litestream as its users do, and closes the database.
func (d *sqliteDatabase) takeOver(context.Context, string) error { return errUnsupported }

func (d *sqliteDatabase) close() error {
	var err error
	if d.litestream != nil {
		err = d.litestream.Process.Signal(os.Interrupt)
		<-d.ended // it need not end well
	}
	if d.home != "" {
		err = errors.Join(err, os.RemoveAll(d.home))
	}
	return errors.Join(err, d.Store.Close())
}

// restoreSQLite lets Litestream restore the database in the store.
func restoreSQLite(_ context.Context, r *request) (peak float64, err error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return 0, err
	}
	file := filepath.Join(r.Dir, sqliteFile)
	config, err := litestreamConfig(r.Dir, file, r)
	if err != nil {
		return 0, err
	}
	program, err := litestreamProgram()
	if err != nil {
		return 0, err
	}
	cmd := litestreamCommand(program, "restore", "-config", config, file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return peakOf(cmd.ProcessState), nil
}
