package docs

import "time"

// log appends whole lines of a service's log.
func (w *writer) log(bytes int) {
	for end := len(w.buf) + bytes; len(w.buf) < end; {
		w.logLine()
	}
}

func (w *writer) logLine() {
	w.time("2006-01-02T15:04:05.000000Z ", 50*time.Millisecond)
	w.add(w.pick("INFO ", "INFO ", "INFO ", "INFO ", "DEBUG ", "WARN ", "ERROR "), "host-")
	w.number(10, 42)
	w.add(" ", w.pick("api", "auth", "billing", "search", "worker"), "[")
	w.number(1_000, 1_032)
	w.add("] request=")
	w.hex(8)
	switch w.random.IntN(4) {
	case 0:
		w.add(" user=", w.person().login, " ")
		w.prose(4 + w.random.IntN(10))
	case 1:
		w.add(" retry=")
		w.number(1, 6)
		w.add(" error=\"dial tcp 10.0.")
		w.number(0, 8)
		w.add(".")
		w.number(1, 255)
		w.add(":5432: connection refused\"")
	default:
		w.add(" method=", w.pick("GET", "GET", "GET", "POST", "PUT", "DELETE"), " path=/v1/",
			w.pick("orders", "users", "items", "comments"), "/")
		w.number(1, 2_000_000)
		w.add(" status=", w.pick("200", "200", "200", "201", "304", "404", "500"), " bytes=")
		w.number(90, 90_000)
		w.add(" duration_us=")
		w.number(120, 400_000)
	}
	w.add("\n")
}
