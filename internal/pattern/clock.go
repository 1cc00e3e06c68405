package pattern

import (
	"encoding/binary"
	"math"
)

// Times are seconds since 1970, dates are days since then, both until the end of the year 9999.
const (
	secondsADay = 24 * 60 * 60
	daysInAll   = 2_932_897
	daysBefore  = 719_468 // from the first of March of the year 0 until 1970
	daysOf400   = 146_097
	maxTimeBits = 38
)

// putTime writes the time or date with the given number.
func putTime(out []byte, k kind, v uint64) {
	if k == kindDate {
		putDate((*[dateBytes]byte)(out), v%daysInAll)
		return
	}
	v %= daysInAll * secondsADay
	putDate((*[dateBytes]byte)(out), v/secondsADay)
	out[dateBytes] = 'T'
	if k == kindTimeSpace {
		out[dateBytes] = ' '
	}
	putClock((*[8]byte)(out[dateBytes+1:]), v%secondsADay)
}

// putDate writes the date that is days after 1970. It counts in years that start in March, so that
// a leap day is the last day of a year. Its multiplications are those of Neri and Schneider,
// "Euclidean affine functions and their application to calendar algorithms", 2023.
func putDate(out *[dateBytes]byte, days uint64) {
	days += daysBefore
	century, days := (4*days+3)/daysOf400, (4*days+3)%daysOf400/4
	ofCentury := 2939745 * (4*days + 3) // 2^32/1461
	year := 100*century + ofCentury>>32
	days = ofCentury & math.MaxUint32 / 2939745 / 4
	ofYear := 2141*days + 197913 // 2^16/30.6, from the third month on
	month, day := ofYear>>16, ofYear&math.MaxUint16/2141
	if month > 12 {
		month, year = month-12, year+1
	}
	w := pairDigits(year/100 | year%100<<16 | month<<32 | (day+1)<<48)
	binary.LittleEndian.PutUint64(out[:],
		w&math.MaxUint32|'-'<<32|w>>32&math.MaxUint16<<40|'-'<<56)
	binary.LittleEndian.PutUint16(out[8:], uint16(w>>48))
}

func putClock(out *[8]byte, second uint64) {
	w := pairDigits(second/3600 | second/60%60<<16 | second%60<<32)
	binary.LittleEndian.PutUint64(out[:],
		w&math.MaxUint16|':'<<16|w>>16&math.MaxUint16<<24|':'<<40|w>>32<<48)
}

// parseClock returns the number of the time or date that p starts with. ok is false if there is
// none, or if it would be written differently.
func parseClock(k kind, p []byte) (v uint64, ok bool) {
	size := k.size()
	if len(p) < size {
		return 0, false
	}
	if v, ok = parseDate((*[dateBytes]byte)(p)); !ok || k == kindDate {
		return v, ok
	}
	separator := byte('T')
	if k == kindTimeSpace {
		separator = ' '
	}
	c := (*[9]byte)(p[dateBytes:])
	if c[0] != separator || c[3] != ':' || c[6] != ':' {
		return 0, false
	}
	hour, ok1 := twoDigits(c[1], c[2])
	minute, ok2 := twoDigits(c[4], c[5])
	second, ok3 := twoDigits(c[7], c[8])
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	return v*secondsADay + hour*3600 + minute*60 + second, true
}

func parseDate(p *[dateBytes]byte) (days uint64, ok bool) {
	century, ok1 := twoDigits(p[0], p[1])
	year, ok2 := twoDigits(p[2], p[3])
	month, ok3 := twoDigits(p[5], p[6])
	day, ok4 := twoDigits(p[8], p[9])
	year += 100 * century
	if !ok1 || !ok2 || !ok3 || !ok4 || p[4] != '-' || p[7] != '-' ||
		year < 1970 || month < 1 || month > 12 || day < 1 {
		return 0, false
	}
	next := daysUntil(year, month+1) // also after December: years start in March
	days = daysUntil(year, month) + day - 1
	return days, days < next
}

// daysUntil returns how many days after 1970 a month starts.
func daysUntil(year, month uint64) uint64 {
	if month < 3 {
		month, year = month+12, year-1
	}
	return year*365 + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 - daysBefore
}

func twoDigits(a, b byte) (v uint64, ok bool) {
	a, b = a-'0', b-'0'
	return 10*uint64(a) + uint64(b), a < 10 && b < 10
}
