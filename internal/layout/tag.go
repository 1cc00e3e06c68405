package layout

import (
	"fmt"
	"reflect"
	"strings"
)

// tag is the parsed tag of a field.
type tag struct {
	skip    bool     // the field is not stored
	name    string   // empty: none given
	was     []string // former names of the field
	options []string // all others, for the layer above
}

// parseTag parses the tag of a field: `stoat:"name,option,was=old1|old2"`.
func parseTag(f reflect.StructField) (tag, error) {
	text, ok := f.Tag.Lookup("stoat")
	if !ok {
		return tag{}, nil
	}
	if text == "-" {
		return tag{skip: true}, nil
	}
	parts := strings.Split(text, ",")
	t := tag{name: parts[0]}
	if t.name != "" && !validName(t.name) {
		return t, fmt.Errorf("invalid name %q in the tag: use letters, digits and underscores", t.name)
	}
	for _, option := range parts[1:] {
		old, ok := strings.CutPrefix(option, "was=")
		if !ok {
			t.options = append(t.options, option)
			continue
		}
		for name := range strings.SplitSeq(old, "|") {
			if !validName(name) {
				return t, fmt.Errorf("invalid former name %q in the tag: use letters, digits and "+
					"underscores", name)
			}
			t.was = append(t.was, name)
		}
	}
	return t, nil
}
