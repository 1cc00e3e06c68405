package arch

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// policy lists for each package what it may import of this module and of others; "std" means only
// the standard library. It is a partial order: a line names only packages above it. DO NOT CHANGE
// IT TO FIX A BUILD: a new edge is a decision about the architecture, and ARCHITECTURE.md changes
// with it.
const policy = `
	internal/testing/arch:         std
	internal/testing/model:        std
	internal/commands/progress:        std
	internal/commands/bucketpath:   std
	internal/commands/jsontext:     std
	internal/commands/columns:      std
	internal/commands/cmdline:      internal/commands/progress

	internal/corrupt:      std
	internal/checksum:     golang.org/x/sys
	internal/keyspace:     std
	internal/filter:       github.com/FastFilter/xorfilter
	internal/sorter:       internal/keyspace
	internal/pattern:      golang.org/x/sys

	internal/vfs:          golang.org/x/sys
	internal/vfs/memfs:    internal/vfs
	internal/testing/faultfs:  internal/vfs
	internal/testing/symlink:  std
	internal/testing/released: std
internal/testing/portable: std

	internal/folder:       internal/vfs
	internal/fileheader:   internal/checksum, internal/corrupt
	internal/vfs/cryptfs:  internal/vfs, internal/checksum, internal/corrupt, internal/folder,
	                       internal/fileheader
	internal/commands/keyfile:  internal/vfs/cryptfs, internal/commands/cmdline

	internal/batch:        internal/keyspace, internal/corrupt
	internal/memtable:     internal/keyspace, internal/batch
	internal/wal:          internal/vfs, internal/checksum, internal/corrupt, internal/folder,
	                       internal/fileheader
	internal/manifest:     internal/vfs, internal/checksum, internal/corrupt, internal/keyspace,
	                       internal/folder, internal/fileheader
	internal/valuelog:     internal/vfs, internal/checksum, internal/corrupt, internal/fileheader

	internal/block:        internal/keyspace, internal/checksum, internal/pattern,
	                       github.com/klauspost/compress
	internal/table:        internal/keyspace, internal/checksum, internal/corrupt, internal/vfs,
	                       internal/fileheader, internal/block, internal/filter

	internal/tools/inspect:      internal/keyspace, internal/corrupt, internal/vfs,
	                       internal/fileheader, internal/batch, internal/wal, internal/manifest,
	                       internal/valuelog,
	                       internal/block, internal/table
	internal/superversion: internal/keyspace, internal/corrupt, internal/vfs, internal/filter,
	                       internal/block, internal/memtable, internal/manifest,
	                       internal/valuelog, internal/table
	internal/run:          internal/keyspace, internal/corrupt, internal/vfs, internal/folder,
	                       internal/manifest, internal/valuelog, internal/pattern, internal/block,
	                       internal/table
	internal/flush:        internal/keyspace, internal/corrupt, internal/vfs, internal/folder,
	                       internal/memtable, internal/manifest, internal/valuelog,
	                       internal/superversion, internal/run, internal/sorter
	internal/compaction:        internal/keyspace, internal/vfs, internal/manifest,
	                       internal/superversion, internal/run
	internal/pick:         internal/keyspace, internal/manifest
	internal/tools/check:        internal/keyspace, internal/corrupt, internal/vfs, internal/memtable,
	                       internal/manifest, internal/valuelog, internal/table,
	                       internal/superversion
	internal/tools/backup:       internal/checksum, internal/vfs, internal/corrupt, internal/folder,
	                       internal/manifest, internal/wal
	internal/commit:       internal/keyspace, internal/vfs, internal/batch, internal/memtable,
	                       internal/wal
	internal/engine:       internal/keyspace, internal/corrupt, internal/vfs, internal/folder,
	                       internal/commit, internal/memtable,
	                       internal/wal, internal/manifest, internal/valuelog, internal/block,
	                       internal/table,
	                       internal/superversion, internal/run, internal/flush, internal/compaction,
	                       internal/pick, internal/tools/backup, internal/tools/check, internal/sorter

	internal/tools/salvage:      internal/keyspace, internal/corrupt, internal/vfs, internal/folder,
	                       internal/fileheader, internal/memtable, internal/wal,
	                       internal/manifest, internal/valuelog,
	                       internal/block, internal/table, internal/run

	internal/hook:         internal/vfs, internal/engine, internal/tools/salvage
	.:                     internal/keyspace, internal/corrupt, internal/vfs, internal/vfs/memfs,
	                       internal/vfs/cryptfs,
	                       internal/commit,
	                       internal/superversion, internal/engine, internal/hook,
	                       internal/tools/salvage
	remote/objstore:       std
	remote/internal/model: std
	remote/internal/object: internal/checksum, internal/corrupt, internal/fileheader,
	                       internal/manifest, internal/block,
	                       github.com/klauspost/compress
	remote/internal/history: internal/checksum, internal/corrupt, internal/folder, internal/manifest,
	                       remote/objstore, remote/internal/object
	remote/internal/retry: internal/corrupt, remote/objstore
	remote/internal/clonestore: remote/objstore, remote/internal/object, remote/internal/history
	remote/internal/archive: internal/corrupt, internal/vfs, internal/folder, internal/engine,
	                       remote/objstore, remote/internal/object, remote/internal/history,
	                       remote/internal/clonestore, remote/internal/retry
	remote/internal/ship:  internal/checksum, internal/corrupt, internal/vfs, internal/folder,
	                       internal/manifest, internal/commit, internal/engine, remote/objstore,
	                       remote/internal/object, remote/internal/history,
	                       remote/internal/clonestore, remote/internal/retry
	remote/internal/diskcache: internal/vfs, internal/checksum, internal/corrupt, internal/folder
	remote/internal/objectfs: internal/vfs, internal/corrupt, internal/folder, remote/objstore,
	                       remote/internal/history, remote/internal/diskcache
	remote/internal/tail:  internal/corrupt, internal/engine, remote/objstore,
	                       remote/internal/object, remote/internal/history,
	                       remote/internal/clonestore, remote/internal/retry
	remote/internal/sparse: internal/vfs, internal/folder
	remote:                ., internal/vfs, internal/vfs/memfs, internal/vfs/cryptfs,
	                       internal/folder, internal/engine, internal/corrupt,
	                       internal/hook,
	                       remote/objstore, remote/internal/history, remote/internal/archive,
	                       remote/internal/ship,
	                       remote/internal/diskcache, remote/internal/objectfs,
	                       remote/internal/sparse, remote/internal/tail,
	                       remote/internal/clonestore, remote/internal/retry
	remote/memstore:       remote/objstore
	remote/cryptstore:     internal/corrupt, internal/fileheader, internal/vfs/cryptfs,
	                       remote/objstore
	remote/folderstore:    remote/objstore, remote/internal/retry, internal/vfs
	remote/remotetest:     remote/objstore
	internal/testing/faultstore: remote/objstore
	tuple:                 .
	internal/layout:       internal/corrupt
	internal/tap:          .
	record:                ., tuple, internal/layout, internal/tap
	feed/internal/posting: std
	feed:                  ., internal/layout, feed/internal/posting
	internal/commands/intake:       ., feed, internal/commands/progress, internal/commands/bucketpath
	examples/gossip:       ., feed
	examples/shop:         ., record
	examples/todo:         ., record
	cmd/stoat:             ., record, feed, internal/folder, internal/corrupt, internal/tools/inspect,
	                       internal/commands/progress, internal/commands/bucketpath,
	                       internal/commands/intake, internal/commands/jsontext,
	                       internal/commands/cmdline, internal/commands/keyfile,
	                       github.com/klauspost/compress

	internal/testing/tuned:        ., internal/vfs, internal/engine, internal/hook,
	                       internal/tools/salvage
	internal/testing/torture/crash: internal/vfs, internal/vfs/memfs, internal/testing/faultfs
	internal/testing/torture:      std
	internal/testing/torture/layers: std
`

// parsePolicy returns the packages in the order of their lines, and what each may import.
func parsePolicy(t *testing.T) (order []string, allowed map[string][]string) {
	t.Helper()
	allowed = map[string][]string{}
	for item := range strings.FieldsFuncSeq(policy, func(r rune) bool { return r == '\n' }) {
		pkg, list, starts := strings.Cut(strings.TrimSpace(item), ":")
		if pkg == "" {
			continue
		}
		if starts {
			order = append(order, pkg)
		} else {
			list = pkg
		}
		last := order[len(order)-1]
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" && name != "std" {
				allowed[last] = append(allowed[last], name)
			}
		}
	}
	return order, allowed
}

func TestPolicy_isAPartialOrder(t *testing.T) {
	order, allowed := parsePolicy(t)
	above := map[string]bool{}
	for _, pkg := range order {
		if above[pkg] {
			t.Errorf("%s has two lines in the policy; join them", pkg)
		}
		for _, name := range allowed[pkg] {
			if !foreign(name) && !above[name] {
				t.Errorf("%s may import %s, which does not stand above it; reorder the policy or "+
					"drop the edge", pkg, name)
			}
		}
		above[pkg] = true
	}
}

func TestImports_followThePolicy(t *testing.T) {
	order, allowed := parsePolicy(t)
	seen := map[string]bool{}
	for _, f := range load(t, library) {
		seen[f.pkg] = true
		if !slices.Contains(order, f.pkg) {
			t.Errorf("%s: package %s has no line in the import policy; add one that says what it "+
				"may import", f.path, f.pkg)
			continue
		}
		for _, spec := range f.tree.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			name := localName(path)
			if !standard(path) && !permitted(name, f, allowed[f.pkg]) {
				t.Errorf("%s:%d: %s may not import %s; move the code to a package that may",
					f.path, f.line(spec.Pos()), f.pkg, path)
			}
		}
	}
	for _, pkg := range order {
		if !seen[pkg] {
			t.Errorf("the import policy names %s, which does not exist; remove its line", pkg)
		}
	}
}

// permitted reports whether a file may import a package outside the standard library. Tests may
// import all of this module, but only the libraries that their package may import.
func permitted(name string, f *file, allowed []string) bool {
	if f.test && !foreign(name) {
		return true
	}
	return slices.ContainsFunc(allowed, func(a string) bool {
		return name == a || foreign(a) && strings.HasPrefix(name, a+"/")
	})
}

// localName returns the path within this module; other paths stay as they are.
func localName(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// foreign reports whether a name from localName belongs to another module.
func foreign(name string) bool {
	return strings.Contains(strings.SplitN(name, "/", 2)[0], ".") && name != "."
}

// standard reports whether an import path belongs to the standard library.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestImports_readTheNamesRight(t *testing.T) {
	want := map[string]string{
		module:                        "root",
		module + "/internal/vfs":      "local",
		module + "/cmd/stoat":         "local",
		module + "/tuple":             "local",
		"go/ast":                      "standard",
		"os":                          "standard",
		"golang.org/x/sys/unix":       "foreign",
		"github.com/elsewhere/module": "foreign",
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		name, got := localName(path), "local"
		switch {
		case name == ".":
			got = "root"
		case standard(path):
			got = "standard"
		case foreign(name):
			got = "foreign"
		}
		if got != want[path] {
			t.Errorf("%s counts as %s, want %s", path, got, want[path])
		}
	}
}
