// Package stress contains a test in which everything that replicas can do happens at once: they
// commit, sync with each other over connections that are cut, close, open again, checkpoint, prune,
// lose rights and roles, and are copied. In the end, all of them must agree, and have what was
// acknowledged. The package has no code outside its tests.
package stress
