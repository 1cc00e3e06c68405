package docs

import "github.com/stoatdb/stoat/bench/suite"

// rows returns all rows, in the order of the report.
func rows() []suite.Row {
	const ns, bytes = suite.Nanoseconds, suite.Bytes
	row := rowOf(nil)
	// Automatic compression must not cost much more than no compression or full compression.
	near := rowOf(&suite.Bound{Engine: "stoat", Times: 2, Of: []string{"stoat-none", "stoat-zstd"}})
	// The first read must not cost more than if everything were compressed.
	first := rowOf(&suite.Bound{Engine: "stoat", Times: 1, Of: []string{"stoat-zstd"}})
	return []suite.Row{
		near("load", ns, "one document, in transactions of 1,000 or 8 MiB"),
		row("close", ns, "the Close after the load and reading, per document"),
		near("get_loaded", ns, "a random get right after the load; mean of up to 100"),
		near("scan_loaded", ns, "one document of a scan then, looking at one byte of each"),
		row("size", bytes, "length of the files per document, after that Close"),
		row("size_allocated", bytes, "their blocks on disk"),
		near("get_settled", ns, "get_loaded, after reopening the database and idling until the"+
			" background work has ended, at least 2.5 s"),
		near("scan_settled", ns, "scan_loaded then"),
		row("settled_size", bytes, "size after the next Close"),
		row("settled_size_allocated", bytes, "their blocks on disk"),
		first("get_cold", ns, "a get that copies a document not read before, in a freshly"+
			" opened database, from files not in memory, with the processor's caches flushed"),
		first("scan_cold", ns, "one document of a scan that copies all, likewise"),
		first("get_first", ns, "the first get of a document after opening, copying it, from files"+
			" in memory; mean of up to 100"),
		near("get_warm", ns, "get_loaded after each document has been read once"),
		near("get_swept", ns, "a get that copies then, with the processor's caches flushed"),
		near("scan_warm", ns, "scan_loaded then"),
		near("scan_keys", ns, "one key of a scan that copies only the keys"),
	}
}

// rowOf returns a function that makes rows with a bound, which may be nil.
func rowOf(b *suite.Bound) func(name string, unit suite.Unit, about string) suite.Row {
	var states []string
	for _, k := range kinds() {
		for _, s := range sizes() {
			states = append(states, stateOf(k, s))
		}
	}
	return func(name string, unit suite.Unit, about string) suite.Row {
		return suite.Row{Name: name, Unit: unit, States: states, About: about, Bound: b}
	}
}

// stateOf returns the state of all rows for documents of a kind and size.
func stateOf(k kind, s size) string { return k.name + " " + s.name }
