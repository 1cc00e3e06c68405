package model

import "fmt"

// Diff describes the first difference between two buckets, or returns "" if they are equal.
func Diff(got, want *Bucket) string { return diff("/", got, want) }

func diff(path string, got, want *Bucket) string {
	if got.sequence != want.sequence {
		return fmt.Sprintf("%s: sequence %d, want %d", path, got.sequence, want.sequence)
	}
	if d := diffEntries(path, got.all(), want.all()); d != "" {
		return d
	}
	for i := range max(len(got.children), len(want.children)) {
		switch {
		case i >= len(want.children) ||
			i < len(got.children) && got.children[i].name < want.children[i].name:
			return fmt.Sprintf("%s: bucket %q should not be there", path, got.children[i].name)
		case i >= len(got.children) || got.children[i].name > want.children[i].name:
			return fmt.Sprintf("%s: bucket %q is missing", path, want.children[i].name)
		}
		below := fmt.Sprintf("%s%q/", path, got.children[i].name)
		if d := diff(below, got.children[i].bucket, want.children[i].bucket); d != "" {
			return d
		}
	}
	return ""
}

// diffEntries is diff for the entries of two buckets.
func diffEntries(path string, got, want []Entry) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(want) || i < len(got) && got[i].Key < want[i].Key:
			return fmt.Sprintf("%s: key %q should not be there", path, got[i].Key)
		case i >= len(got) || got[i].Key > want[i].Key:
			return fmt.Sprintf("%s: key %q is missing", path, want[i].Key)
		case got[i] != want[i]:
			return fmt.Sprintf("%s: key %q has value %s, want %s", path, got[i].Key,
				brief(got[i].Value), brief(want[i].Value))
		}
	}
	return ""
}

// brief quotes a value, shortened to its length and first bytes if it is long.
func brief(value string) string {
	if len(value) <= 24 {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q… (%d bytes)", value[:16], len(value))
}
