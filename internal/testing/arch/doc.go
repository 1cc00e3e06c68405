// Package arch holds the shape of the code as tests: who may import whom, how long a file may grow,
// what must be documented, and what may be called where.
//
// The import policy in imports_test.go is a statement, not a report: it is changed when the design
// changes, never to make a build pass. The rules are in decls_test.go, calls_test.go and
// text_test.go; each carries a piece of code that breaks it, so that a rule which has stopped
// seeing is found out. Exceptions stand in rules_test.go, each with its reason.
//
// The package has no code outside its tests, and it reads source only: it does not build, does not
// type-check, and looks into no other module.
package arch
