package load

import (
	"slices"

	"github.com/stoatdb/stoat/bench/suite"
)

// rows returns all rows, in the order of the report.
func rows() []suite.Row {
	return slices.Concat(sizeRows(), cappedRows(), churnRows(), orderRows(), besideRows())
}

// rowOf returns a function that makes rows with the states.
func rowOf(states []string) func(name string, unit suite.Unit, about string) suite.Row {
	return func(name string, unit suite.Unit, about string) suite.Row {
		return suite.Row{Name: name, Unit: unit, States: states, About: about}
	}
}

// sizeNames returns the states of the rows that are measured for each value size.
func sizeNames() (names []string) {
	for _, v := range valueSizes() {
		names = append(names, v.name)
	}
	return names
}

// sizeRows returns the rows of the load and the reads after it.
func sizeRows() []suite.Row {
	const ns, bytes, perSecond = suite.Nanoseconds, suite.Bytes, suite.PerSecond
	row := rowOf(sizeNames())
	curve := row("curve", perSecond, "entries acknowledged in a slice of the load's time; a batch"+
		" counts evenly over the time it took")
	curve.Axis = "seconds"
	// Rows of a process's usage have no samples where the system does not report it.
	return []suite.Row{
		row("load", ns, "one entry of the load, up to the last acknowledged batch"),
		row("load_settled", ns, "the same, up to the end of background work and Close; the work ends"+
			" when for 2 s, in the quick profile 0.5 s, the process takes less than 10 % of a processor"+
			" and writes less than 64 KiB; that wait is subtracted; no samples if it does not"+
			" end in 10 min, in the quick profile in 5 s, or if the system does not report it"),
		row("close", ns, "the Close after the load and its background work"),
		row("load_batch", ns, "one batch of the load: 1,000 entries, or 500 of 16 KiB"),
		curve,
		row("size", bytes, "length of the files per entry present, after settling and Close"),
		row("size_allocated", bytes, "blocks of the files per entry present, likewise"),
		row("size_values", bytes, "the part of size in files that hold values and no keys"),
		row("get_1", ns, "a get that copies the value, mean of 1,000; about 37 % miss and are"+
			" not reported separately"),
		row("get_128", perSecond, "such gets by 128 goroutines at once"),
		row("iterate", ns, "one entry, copying all entries from the first key, at most 2,000,000"),
		row("iterate_keys", ns, "the same without the values"),
		row("memory_peak", bytes, "peak resident memory, up to the Close after the walks over all"+
			" entries"),
		row("memory_own", bytes, "memory_peak minus what was resident before the engine was opened"),
		row("cpu", ns, "processor time of the load, its background work and Close"),
		row("written", bytes, "bytes written to the device in the same period"),
	}
}

// cappedRows returns the rows of the reads with little memory.
func cappedRows() []suite.Row {
	row := rowOf(sizeNames())
	return []suite.Row{
		row("capped_get_1", suite.Nanoseconds, "get_1 of a settled load in a fresh process, of"+
			" files that are not in memory, with memory for a quarter of the keys and values"+
			" present, including the page cache; an engine's caches get an eighth of that, if it"+
			" has such a setting; rounds as in order_load; ends after 20 s; skipped if the"+
			" quarter is less than 32 MiB, as in the quick profile, or if memory cannot be"+
			" capped"),
		row("capped_get_128", suite.PerSecond, "get_128 after that, likewise"),
		row("capped_iterate", suite.Nanoseconds, "iterate after that, likewise"),
		row("capped_iterate_keys", suite.Nanoseconds, "iterate_keys after that, likewise"),
	}
}

// churnRows returns the rows of the churn and the reads after it.
func churnRows() []suite.Row {
	const ns, bytes = suite.Nanoseconds, suite.Bytes
	row := rowOf(sizeNames())
	return []suite.Row{
		row("churn", ns, "an overwrite, or a delete of 37 %, of a random key; ten for each entry"+
			" of the load, in the quick profile three; other profiles only in the first round"),
		row("churn_settled", ns, "the same, up to the end of background work and Close, as in"+
			" load_settled; not in the quick profile, which does not wait for it"),
		row("churn_size", bytes, "length of the files per byte of present keys and values, after"+
			" the churn, settling (not in the quick profile) and Close"),
		row("churn_get", ns, "get_1 after the churn"),
		row("churn_iterate", ns, "iterate after the churn"),
		row("churn_cpu", ns, "processor time of the churn, its background work and Close"),
		row("churn_written", bytes, "bytes written to the device in the same period"),
	}
}

// orderRows returns the rows of the loads in several orders.
func orderRows() []suite.Row {
	var states []string
	for _, o := range orders() {
		states = append(states, o.name)
	}
	row := rowOf(states)
	return []suite.Row{
		row("order_load", suite.Nanoseconds, "one entry of 128 bytes in a load that puts each"+
			" number once, up to the last acknowledged batch: random, ascending, descending, and"+
			" in the order of little-endian counters, which scatters neighbours over 256 ascending"+
			" sequences; only in the first round, except in quick or with -n; not in large"),
		row("order_load_settled", suite.Nanoseconds, "the same, up to the end of background work and"+
			" Close, as in load_settled; not in the quick profile, which does not wait for"+
			" it"),
		row("order_size", suite.Bytes, "length of the files per entry after that"),
	}
}

// besideRows returns the rows of the gets during a load.
func besideRows() []suite.Row {
	const ns = suite.Nanoseconds
	row := rowOf(sizeNames())
	return []suite.Row{
		row("beside_p50", ns, "median time of a get that copies the value, of a random"+
			" present key, during a load; one is due every millisecond, and its time counts from"+
			" then even if the previous get took longer; rounds and profiles as in order_load, and"+
			" in the quick profile only 128 bytes"),
		row("beside_p99", ns, "the time within which 99 % of these gets finish"),
		row("beside_p999", ns, "likewise for 99.9 %; the longest time if there are fewer than 1,000"),
		row("beside_load", ns, "one entry of that load, up to the last acknowledged batch"),
	}
}
