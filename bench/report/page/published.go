package page

// study is what was published about a suite's workload: figures from other machines and other
// years, which are no measure of this run.
type study struct {
	Text   string
	Tables []studyTable
	Notes  []string
}

// studyTable is one table of a study.
type studyTable struct {
	Caption string
	Heads   []string
	Rows    [][]string // as many cells as heads
}

// published returns the figures of the study behind a suite, if there is one.
func published(suite string) study {
	switch suite {
	case "ssb":
		return publishedMessages()
	case "strategies":
		return publishedRecords()
	case "items":
		return publishedItems()
	case "load":
		return publishedLoads()
	}
	return study{}
}

func publishedMessages() study {
	return study{
		Text: "The study compared stores for a log of signed messages on a fast and on a slow " +
			"disk. It gave each time as a share of the slowest engine's: less is " +
			"better, and 100 is the slowest.",
		Tables: []studyTable{{
			Caption: "Per cent of the slowest, fast disk | slow disk",
			Heads:   []string{"", "bbolt", "badger", "badger-snappy", "badger-zstd", "margaret"},
			Rows: [][]string{
				{"append", "96 | 100", "65 | 27", "71 | 27", "66 | 22", "100 | 56"},
				{"read_random", "63 | 29", "99 | 51", "100 | 52", "98 | 46", "100 | 100"},
				{"read_sequential", "55 | 25", "100 | 45", "98 | 46", "96 | 42", "98 | 100"},
				{"read_iterate", "2 | 1", "25 | 10", "23 | 10", "25 | 9", "100 | 100"},
				{"size", "100", "54", "39", "30", "51"},
			},
		}},
		Notes: []string{
			"Compressing each value on its own before it goes into bbolt was tried, and " +
				"did not pay.",
		},
	}
}

func publishedRecords() study {
	return study{
		Text: "The study stored a user record in bbolt in six ways. Times are microseconds for " +
			"one record, of 1,000,000 records.",
		Tables: []studyTable{{
			Caption: "Microseconds for a record; storage in MB",
			Heads:   []string{"", "binary", "binary+names", "json", "gob", "multikv", "nested"},
			Rows: [][]string{
				{"bulk write", "4", "7", "6", "10", "34", "48"},
				{"read", "2", "4", "7", "21", "3", "3"},
				{"readmany", "1", "2", "5", "19", "1", "2"},
				{"fieldsum", "1", "2", "5", "19", "1", "1"},
				{"storage", "520", "1,040–1,053", "1,040–1,053",
					"1,040–1,053", "1,435", "1,393"},
			},
		}},
		Notes: []string{
			"With a transaction for each record, writing took 32 to 44 µs in all six ways, " +
				"and updating a field 33 to 58 µs.",
			"The study cut the fraction off some floating-point fields. Here they are " +
				"stored exactly.",
		},
	}
}

func publishedItems() study {
	return study{
		Text: "The study timed a document store that signs what it stores, and SQLite. The " +
			"trusted mode of the store leaves out signing.",
		Tables: []studyTable{{
			Caption: "Time of one operation",
			Heads:   []string{"", "default", "trusted", "SQLite"},
			Rows: [][]string{
				{"create instance", "5.1 ms", "4.6 ms", "203 µs"},
				{"open repository, empty", "1.4 ms", "1.5 ms", "1.1 ms"},
				{"open repository, 100,000 items", "969 ms", "1.1 s", "186 µs"},
				{"create item", "3.0 ms", "2.0 ms", "816 µs"},
				{"read item by path", "2.0 µs", "2.5 µs", "67 µs"},
				{"update item", "1.8 ms", "328 µs", "781 µs"},
				{"bulk create, 100 items", "98 ms", "67 ms", "1.5 ms"},
				{"bulk read, 100 items", "422 µs", "469 µs", "1.7 ms"},
				{"simple query", "264 µs", "324 µs", "149 µs"},
				{"complex query with sort", "144 µs", "207 µs", "97 µs"},
				{"count, 10 items", "4.7 µs", "4.6 µs", "65 µs"},
				{"keys, 10 items", "7.9 µs", "7.9 µs", "82 µs"},
			},
		}},
		Notes: []string{
			"What the study called the default mode ran without signing, too.",
			"Six of its rows for SQLite include opening the database, making the table and " +
				"inserting.",
			"Its writes were not durable when the clock stopped, and it did not wait for loads.",
		},
	}
}

func publishedLoads() study {
	return study{
		Text: "The study loaded up to 250 million random values on a machine with 15 GB of " +
			"memory, so that most of the data was not in it, and compared Badger with RocksDB, " +
			"and then with LMDB and bbolt.",
		Tables: []studyTable{
			{
				Caption: "Badger against RocksDB",
				Heads:   []string{"", "Badger"},
				Rows: [][]string{
					{"load, slowest to fastest case", "0.86 to 14 times as fast"},
					{"load, values of 1 KiB", "4.5 times as fast"},
					{"load, values of 16 KiB", "11.7 times as fast"},
					{"random get", "18 to 27 % of the time"},
					{"iterate over keys only", "far less time"},
					{"iterate over keys and values", "much more time"},
				},
			},
			{
				Caption: "On disk, 75 million values of 1 KiB",
				Heads:   []string{"", "keys and index", "values"},
				Rows: [][]string{
					{"RocksDB", "50 GB", "in the tree"},
					{"Badger", "1.7 GB", "74 GB"},
				},
			},
			{
				Caption: "Load of 5 million values of 16 KiB, hours:minutes:seconds",
				Heads:   []string{"Badger", "LMDB", "bbolt"},
				Rows:    [][]string{{"0:06:52", "0:11:31", "2:34:14"}},
			},
		},
	}
}
