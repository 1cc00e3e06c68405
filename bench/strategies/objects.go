package strategies

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Objects returns the data set of the JSON objects in r, one per line, in order, and their number.
// A field that is a number, a text or a boolean in all of them becomes a Go struct field of that
// type; any other field keeps its JSON.
func Objects(r io.Reader) (data *Data, count int, err error) {
	var lines [][]byte
	var numbers []int
	var columns []column
	in := bufio.NewReader(r)
	for number := 1; err == nil; number++ {
		var line []byte
		if line, err = in.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var broken error
		if columns, broken = addObject(columns, line); broken != nil {
			return nil, 0, fmt.Errorf("line %d: %w", number, broken)
		}
		lines, numbers = append(lines, line), append(numbers, number)
	}
	if len(lines) == 0 {
		return nil, 0, errors.New("no records")
	}
	schema, err := objectSchema(columns, len(lines))
	if err != nil {
		return nil, 0, err
	}
	records := schema.newRecords(len(lines))
	for i, line := range lines {
		if err := setObject(records[i], line); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", numbers[i], err)
		}
	}
	return ownData(schema, records), len(records), nil
}

// addObject records an object's fields in the columns.
func addObject(columns []column, line []byte) ([]column, error) {
	if !json.Valid(line) {
		return nil, json.Unmarshal(line, new(json.RawMessage))
	}
	object := json.NewDecoder(bytes.NewReader(line))
	if first, err := object.Token(); err != nil || first != json.Delim('{') {
		return nil, errors.New("the value is not an object")
	}
	seen := make(map[string]bool)
	for object.More() {
		token, err := object.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := object.Decode(&value); err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, fmt.Errorf("duplicate field %q", name)
		}
		seen[name] = true
		i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		if i < 0 {
			i = len(columns)
			columns = append(columns, column{name: name})
		}
		columns[i].objects++
		columns[i].kind = columns[i].kind.and(kindOf(value))
	}
	if len(seen) == 0 {
		return nil, errors.New("the object has no fields")
	}
	return columns, nil
}

// setObject decodes an object into a record. It normalizes retained JSON as encoding/json does, so
// that it can be compared.
func setObject(r Record, line []byte) error {
	if err := json.Unmarshal(line, r.whole); err != nil {
		return err
	}
	for _, f := range r.fields {
		raw, ok := f.(*json.RawMessage)
		if !ok || len(*raw) == 0 {
			continue
		}
		compact, err := json.Marshal(*raw)
		if err != nil {
			return err
		}
		*raw = compact
	}
	return nil
}

// ownData returns the data set that repeats these records. It adds up the field most like a number,
// and updates the next field of that kind.
func ownData(schema *Schema, records []Record) *Data {
	rank := func(i int) int {
		switch records[0].fields[i].(type) {
		case *float64:
			return 0
		case *int64:
			return 1
		case *bool:
			return 2
		case *string:
			return 3
		}
		return 4
	}
	order := make([]int, len(schema.names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank(i) - rank(j) })
	return &Data{
		schema: schema,
		sum:    order[0],
		update: order[min(1, len(order)-1)],
		fill: func(r Record, id int) {
			for i, f := range records[id%len(records)].fields {
				copyField(r.fields[i], f)
			}
		},
	}
}
