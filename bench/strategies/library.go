package strategies

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
)

// marshaller is the codec of a standard-library package that turns a whole struct into bytes and
// back.
type marshaller struct {
	marshal   func(r Record) ([]byte, error)
	unmarshal func(value []byte, into Record) error
	scratch   Record
}

func newJSON(s *Schema) codec {
	return &marshaller{
		marshal:   func(r Record) ([]byte, error) { return json.Marshal(r.whole) },
		unmarshal: func(b []byte, into Record) error { return json.Unmarshal(b, into.whole) },
		scratch:   s.newRecord(),
	}
}

// newGob returns a codec with a new encoder and decoder for each record, because a decoder must
// read everything that its encoder wrote.
func newGob(s *Schema) codec {
	return &marshaller{
		marshal: func(r Record) ([]byte, error) {
			var b bytes.Buffer
			err := gob.NewEncoder(&b).Encode(r.whole)
			return b.Bytes(), err
		},
		unmarshal: func(value []byte, into Record) error {
			return gob.NewDecoder(bytes.NewReader(value)).Decode(into.whole)
		},
		scratch: s.newRecord(),
	}
}

func (m *marshaller) encode(r Record) ([]byte, error) { return m.marshal(r) }

func (m *marshaller) decode(value []byte, into Record) error { return m.unmarshal(value, into) }

// number clears only the one field: decoding leaves a field that is not in the value unchanged.
func (m *marshaller) number(value []byte, field int) (float64, error) {
	clearField(m.scratch.fields[field])
	err := m.unmarshal(value, m.scratch)
	return number(m.scratch.fields[field]), err
}

func (m *marshaller) replace(value []byte, field int, from Record) ([]byte, error) {
	m.scratch.clear()
	if err := m.unmarshal(value, m.scratch); err != nil {
		return nil, err
	}
	copyField(m.scratch.fields[field], from.fields[field])
	return m.marshal(m.scratch)
}
