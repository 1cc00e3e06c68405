// Package arch tests the shape of the code: which package imports which, how long a file may be,
// what must have a comment, and what may be called where. It also tests that documents tell the
// truth where a program can know it.
//
// The import policy in imports_test.go is a statement, not a report: it changes with the design,
// never to make a build pass. The rules are in decls_test.go, calls_test.go and text_test.go. Each
// has a sample that breaks it, so a rule that no longer sees anything fails. Exceptions are in
// rules_test.go, each with its reason.
//
// documents_test.go compares links, the codemap and the lists of dependencies with the tree,
// commands_test.go the commands, steps and variables, and names_test.go the paths, tests and
// identifiers that documents name.
//
// The package has no code outside its tests. It only reads source: it neither builds nor
// type-checks.
package arch
