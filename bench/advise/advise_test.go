package advise

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/stoatdb/stoat/bench/runner"
	"github.com/stoatdb/stoat/bench/strategies"
	"github.com/stoatdb/stoat/bench/suite"
)

// TestMain lets the test binary be the child, too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runner.ChildArgument {
		out := os.Stdout
		os.Stdout = os.Stderr
		find := func(string) (suite.Suite, error) { return Suite(), nil }
		if err := runner.Child(os.Stdin, out, find); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// file returns the path of a new file with a text in it.
func file(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	ok(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// boltFile returns the path of a new database that fill has filled.
func boltFile(t testing.TB, fill func(tx *bbolt.Tx) error) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.db")
	db, err := bbolt.Open(path, 0o600, nil)
	ok(t, err)
	ok(t, db.Update(fill))
	ok(t, db.Close())
	return path
}

// put stores pairs in a bucket of a database, which it makes within those that the path names
// first.
func put(tx *bbolt.Tx, path string, pairs ...string) error {
	var bucket *bbolt.Bucket
	for i, name := range strings.Split(path, "/") {
		var err error
		if i == 0 {
			bucket, err = tx.CreateBucketIfNotExists([]byte(name))
		} else {
			bucket, err = bucket.CreateBucketIfNotExists([]byte(name))
		}
		if err != nil {
			return err
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if err := bucket.Put([]byte(pairs[i]), []byte(pairs[i+1])); err != nil {
			return err
		}
	}
	return nil
}

func TestSuite_hasTheRowsThatTheAdviceIsMadeFrom(t *testing.T) {
	s := Suite()
	for _, c := range append(layoutColumns(true), valueColumns(true)...) {
		row, found := s.Row(c.row)
		if !found || row.Unit != c.unit {
			t.Errorf("row %s is %+v", c.row, row)
		}
	}
	seen := make(map[string]bool)
	for _, row := range s.Rows {
		if seen[row.Name] {
			t.Errorf("two rows %s", row.Name)
		}
		seen[row.Name] = true
	}
}

func TestLayouts_areAllKnownByWhatTheyAre(t *testing.T) {
	for _, s := range strategies.Strategies() {
		if manner(s.Name) == "otherwise" {
			t.Errorf("nothing is said of %s", s.Name)
		}
	}
}
