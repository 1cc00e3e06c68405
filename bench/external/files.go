package external

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"
)

// WriteValues makes a file of values. Each one is preceded by its length, a little-endian number of
// 32 bits. It calls next until that returns false.
func WriteValues(path string, next func() (value []byte, ok bool)) (err error) {
	return writeFile(path, func(w *bufio.Writer) {
		for value, ok := next(); ok; value, ok = next() {
			var length [4]byte
			binary.LittleEndian.PutUint32(length[:], uint32(len(value)))
			_, _ = w.Write(length[:]) // its error is that of Flush
			_, _ = w.Write(value)
		}
	})
}

// WriteNumbers makes a file of little-endian numbers of 32 bits.
func WriteNumbers(path string, numbers []uint32) error {
	return writeFile(path, func(w *bufio.Writer) {
		for _, n := range numbers {
			var number [4]byte
			binary.LittleEndian.PutUint32(number[:], n)
			_, _ = w.Write(number[:]) // its error is that of Flush
		}
	})
}

// writeFile makes a file of what fill writes.
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
