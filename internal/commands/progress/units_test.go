package progress

import (
	"testing"
	"time"
)

func TestUnits_haveThreeSignificantDigits(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB",
		123456: "123 kB", 999499: "999 kB", 999500: "1.00 MB", 98.7e6: "98.7 MB", 5e12: "5.00 TB",
	} {
		equal(t, Bytes(n), want)
	}
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1234: "1.23 µs", 56 * time.Millisecond: "56.0 ms",
		999_600: "1.00 ms", 90 * time.Second: "90.0 s", 2 * time.Hour: "7200 s",
	} {
		equal(t, Duration(d), want)
	}
	for n, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234",
	} {
		equal(t, Count(n), want)
	}
	equal(t, Counted(1, "file"), "1 file")
	equal(t, Counted(1000, "file"), "1,000 files")
}
