package objstore

import (
	"fmt"
	"strings"
)

// NameBytesMax is the length of the longest name of an object. It leaves room for a prefix in the
// 1,024 bytes that providers allow.
const NameBytesMax = 200

// CheckName returns an error that matches [ErrName] if objects cannot have the name. A name has up
// to 200 bytes and consists of parts between slashes. A part consists of a to z, 0 to 9, dot,
// hyphen and underscore, starts with a letter or a digit, and does not end with a dot. So every
// provider and every file system can keep it. For Windows, a part must not be the name of a device
// either, such as nul.
func CheckName(name string) error {
	if len(name) > NameBytesMax {
		return fmt.Errorf("%w: %.40q… has %d bytes, at most %d", ErrName, name, len(name),
			NameBytesMax)
	}
	for part := range strings.SplitSeq(name, "/") {
		if reason := partProblem(part); reason != "" {
			return fmt.Errorf("%w: %q: %s", ErrName, name, reason)
		}
	}
	return nil
}

// partProblem says what is wrong with a part of a name.
func partProblem(part string) string {
	if part == "" {
		return "a part is empty"
	}
	for _, c := range []byte(part) {
		if !isAlphanumeric(c) && c != '.' && c != '-' && c != '_' {
			return fmt.Sprintf("a part has %q; use a to z, 0 to 9, dot, hyphen and underscore", c)
		}
	}
	switch stem, _, _ := strings.Cut(part, "."); {
	case !isAlphanumeric(part[0]):
		return "a part must start with a letter or a digit"
	case part[len(part)-1] == '.':
		return "a part must not end with a dot"
	case isDevice(stem):
		return "Windows has a device named " + stem
	}
	return ""
}

func isAlphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// isDevice reports whether Windows takes a file of this name, with any extension, for a device.
func isDevice(stem string) bool {
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	port, found := strings.CutPrefix(stem, "com")
	if !found {
		port, found = strings.CutPrefix(stem, "lpt")
	}
	return found && len(port) == 1 && '0' <= port[0] && port[0] <= '9'
}
