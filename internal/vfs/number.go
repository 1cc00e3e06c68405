package vfs

import "strconv"

// ParseNumber returns the file number that is written as digits in a name: with six digits, or with
// as many more as it needs. No two names have the same number.
func ParseNumber(digits string) (number uint64, ok bool) {
	if len(digits) < 6 || len(digits) > 6 && digits[0] == '0' {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 63)
	return number, err == nil
}
