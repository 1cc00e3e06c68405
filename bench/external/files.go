package external

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"
)

// WriteValues creates a file of values, each after its length as a little-endian 32-bit number. It
// calls next until that returns false.
func WriteValues(path string, next func() (value []byte, ok bool)) (err error) {
	return writeFile(path, func(w *bufio.Writer) {
		for value, ok := next(); ok; value, ok = next() {
			var length [4]byte
			binary.LittleEndian.PutUint32(length[:], uint32(len(value)))
			_, _ = w.Write(length[:]) // Flush returns its error
			_, _ = w.Write(value)
		}
	})
}

// WriteNumbers creates a file of little-endian 32-bit numbers.
func WriteNumbers(path string, numbers []uint32) error {
	return writeFile(path, func(w *bufio.Writer) {
		for _, n := range numbers {
			var number [4]byte
			binary.LittleEndian.PutUint32(number[:], n)
			_, _ = w.Write(number[:]) // Flush returns its error
		}
	})
}

// writeFile creates a file with what fill writes.
func writeFile(path string, fill func(w *bufio.Writer)) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriterSize(file, 1<<18)
	fill(w)
	return w.Flush()
}
