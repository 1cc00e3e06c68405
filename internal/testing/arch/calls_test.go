package arch

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// callRules are the rules about what code may use and call, and where.
var callRules = []rule{
	{
		name: "operating system",
		check: banImports([]string{"os", "syscall"}, "reach files through vfs.FS",
			"internal/vfs", "internal/testing/symlink", "internal/testing/released", "cmd"),
		bad:  `import "os"`,
		good: `import "io/fs"`,
	},
	{
		name:  "clock",
		check: clock,
		bad:   `import "time"; func f() { time.Now() }`,
		good:  `import "time"; const wait = 2 * time.Second`,
	},
	{
		name: "randomness",
		check: banImports([]string{"math/rand", "crypto/rand", "hash/maphash"},
			"take the random bytes as a parameter", "internal/engine", "internal/vfs/memfs",
			"internal/testing/torture/crash", "cmd", "remote"),
		bad:  `import "math/rand/v2"`,
		good: `import "math/bits"`,
	},
	{
		name:  "goroutine",
		check: goroutine,
		bad:   `func f() { go f() }`,
		good:  `func f() { f() }`,
	},
	{
		name: "logging",
		check: banImports([]string{"log"},
			"return the error, or log through the caller's *slog.Logger", "cmd"),
		bad:  `import "log"`,
		good: `import "log/slog"`,
	},
	{
		name: "printing",
		check: banCalls("fmt", []string{"Print", "Printf", "Println"},
			"return it; only cmd prints", "cmd"),
		bad:  `import "fmt"; func f() { fmt.Println() }`,
		good: `import "fmt"; func f() { _ = fmt.Sprint() }`,
	},
	{
		name: "exit",
		check: banCalls("os", []string{"Exit"}, "return an exit code to main",
			"cmd/stoat/main.go"),
		at:   "cmd/stoat/show.go",
		bad:  `import "os"; func f() { os.Exit(1) }`,
		good: `import "os"; func f() { os.Getpid() }`,
	},
	{
		name:  "panic",
		check: noPanic,
		bad:   `func f() { panic("broken") }`,
		good:  `func f() { if r := recover(); r != nil { panic(r) } }`,
	},
	{
		name: "atomics",
		check: banCalls("sync/atomic", []string{
			"AddInt32", "AddInt64", "AddUint32", "AddUint64", "LoadInt32", "LoadInt64",
			"LoadUint32", "LoadUint64", "LoadPointer", "StoreInt32", "StoreInt64",
			"StoreUint32", "StoreUint64", "StorePointer", "SwapPointer",
			"CompareAndSwapInt32", "CompareAndSwapInt64", "CompareAndSwapUint32",
			"CompareAndSwapUint64", "CompareAndSwapPointer",
		}, "use the typed atomics: atomic.Int64, atomic.Pointer"),
		bad:  `import "sync/atomic"; var n int64; func f() { atomic.AddInt64(&n, 1) }`,
		good: `import "sync/atomic"; type t struct{ n atomic.Int64 }`,
	},
	{
		name: "unsafe",
		check: banImports([]string{"unsafe"}, "write it in plain Go", "internal/vfs",
			"internal/layout", "internal/memtable"),
		bad:  `import "unsafe"`,
		good: `import "encoding/binary"`,
	},
	{
		name: "file names",
		check: banStrings([]string{
			"LOCK", "MANIFEST-", ".copy", ".log", ".table", ".values", "UNFINISHED-BACKUP",
		}, "only package folder knows how files are named", "internal/folder"),
		bad:  `const suffix = ".table"`,
		good: `const text = "the name ends in .table"`,
	},
	{
		name: "file headers",
		check: banStrings([]string{"STOATLOG", "STOATMAN", "STOATTAB", "STOATVAL"},
			"only package fileheader knows how files start", "internal/fileheader"),
		bad:  `const magic = "STOATLOG"`,
		good: `const text = "not STOATLOG"`,
	},
	{
		name:  "sleep in tests",
		check: sleepInTests,
		at:    "internal/sample/sample_test.go",
		bad:   `import "time"; func f() { time.Sleep(1) }`,
		good:  `import "time"; func f() { time.NewTimer(1) }`,
	},
}

// banImports forbids non-test files outside of the allowed folders to import the packages or their
// subpackages.
func banImports(banned []string, advice string, allowed ...string) func(*file, reporter) {
	return func(f *file, report reporter) {
		if f.test || f.in(allowed...) {
			return
		}
		for _, spec := range f.tree.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			for _, name := range banned {
				if path == name || strings.HasPrefix(path, name+"/") && path != "log/slog" {
					report(spec.Pos(), "do not import %s here: %s", path, advice)
				}
			}
		}
	}
}

// banCalls forbids non-test files, except the allowed folders and files, to mention the functions
// of a package.
func banCalls(pkg string, names []string, advice string, allowed ...string) func(*file, reporter) {
	return func(f *file, report reporter) {
		if f.test || f.in(allowed...) || slices.Contains(allowed, f.path) {
			return
		}
		for pos, name := range uses(f, pkg) {
			if slices.Contains(names, name) {
				report(pos, "do not use %s.%s here: %s", pkg, name, advice)
			}
		}
	}
}

// banStrings forbids non-test files to spell a word that starts or ends with one of the parts,
// except in the folders of allowed. Texts of several words may.
func banStrings(parts []string, advice string, allowed ...string) func(*file, reporter) {
	return func(f *file, report reporter) {
		if f.test || f.in(allowed...) {
			return
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(literal.Value)
			for _, part := range parts {
				ends := strings.HasPrefix(text, part) || strings.HasSuffix(text, part)
				if ends && !strings.Contains(text, " ") {
					report(n.Pos(), "do not spell %q here: %s", text, advice)
				}
			}
			return true
		})
	}
}

// clock forbids reading the clock and waiting, except in the engine and the command.
func clock(f *file, report reporter) {
	banCalls("time", []string{
		"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
	}, "take the time as a parameter", "internal/engine", "remote/internal/archive",
		"remote/internal/ship", "remote/internal/tail", "remote/internal/retry", "cmd")(f, report)
}

func sleepInTests(f *file, report reporter) {
	if !f.test {
		return
	}
	for pos, name := range uses(f, "time") {
		if name == "Sleep" {
			report(pos, "do not sleep: wait for the event that the test is about")
		}
	}
}

func goroutine(f *file, report reporter) {
	if f.test || f.in("internal/engine", "cmd") {
		return
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if n, ok := n.(*ast.GoStmt); ok {
			report(n.Pos(), "do not start a goroutine here: only the engine and the command do")
		}
		return true
	})
}

// noPanic forbids panic, except to pass on a value that the same function recovered or got as the
// parameter recovered.
func noPanic(f *file, report reporter) {
	if f.test {
		return
	}
	for _, d := range f.tree.Decls {
		recovers := false
		ast.Inspect(d, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			name, ok := call.Fun.(*ast.Ident)
			if !ok {
				return true
			}
			switch name.Name {
			case "recover":
				recovers = true
			case "panic":
				passedOn, _ := call.Args[0].(*ast.Ident)
				if !recovers && (passedOn == nil || passedOn.Name != "recovered") {
					report(n.Pos(), "do not panic: return an error")
				}
			case "print", "println":
				report(n.Pos(), "do not print: return it; only cmd prints")
			}
			return true
		})
	}
}

// uses returns the names that a file selects from a package, by position.
func uses(f *file, pkg string) map[token.Pos]string {
	local := ""
	for _, spec := range f.tree.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if path != pkg {
			continue
		}
		local = path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			local = spec.Name.Name
		}
	}
	found := map[token.Pos]string{}
	if local == "" {
		return found
	}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == local {
				found[sel.Pos()] = sel.Sel.Name
			}
		}
		return true
	})
	return found
}
