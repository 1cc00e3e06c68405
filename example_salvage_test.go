package stoat_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat"
)

// exampleDamaged makes a database of which a value and some keys cannot be read any more.
func exampleDamaged(dir string) {
	db, err := stoat.Open(dir, &stoat.Options{Compression: stoat.CompressionNone})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucket([]byte("hashes"))
		if err != nil {
			return err
		}
		for i := range 2000 {
			if err := b.Put(exampleHash(i), fmt.Append(nil, i)); err != nil {
				return err
			}
		}
		return errors.Join(
			tx.Put([]byte("winter"), bytes.Repeat([]byte("white "), 3000)),
			tx.Put([]byte("summer"), bytes.Repeat([]byte("brown "), 3000)),
		)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		log.Fatal(err)
	}
	exampleDamage(filepath.Join(dir, "*"), []byte("white white"))
	exampleDamage(filepath.Join(dir, "*.table"), exampleHash(7)[8:])
}

// exampleHash returns the key of a number.
func exampleHash(i int) []byte {
	h := sha256.Sum256(fmt.Append(nil, i))
	return h[:]
}

// exampleDamage changes a byte of a text in files.
func exampleDamage(pattern string, text []byte) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if i := bytes.Index(content, text); err == nil && i >= 0 {
			content[i] ^= 1
			err = os.WriteFile(name, content, 0o600)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleSalvage() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	damaged, saved := filepath.Join(parent, "damaged"), filepath.Join(parent, "saved")
	exampleDamaged(damaged)

	report, err := stoat.Salvage(context.Background(), damaged, saved)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("something is lost:", report.Lost()) // report.String says what, for a person
	db, err := stoat.Open(saved, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	for _, key := range []string{"summer", "winter"} {
		value, err := db.Get([]byte(key))
		fmt.Println(key, len(value), err)
	}
	// Output:
	// something is lost: true
	// summer 18000 <nil>
	// winter 0 key not found
}

// A program that can fetch its data elsewhere fetches what is lost.
func ExampleSalvageReport() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	damaged, saved := filepath.Join(parent, "damaged"), filepath.Join(parent, "saved")
	exampleDamaged(damaged)
	report, err := stoat.Salvage(context.Background(), damaged, saved)
	if err != nil {
		log.Fatal(err)
	}

	describe := func(d stoat.SalvageDamage) { // d.Offset says where in d.File
		fmt.Println(filepath.Ext(d.File)+":", d.What)
	}
	fetch := func(k stoat.SalvageKey) {
		fmt.Printf("fetch %s\n", k.Key)
	}
	lost := func(x stoat.SalvageRange, bucket string, key []byte) bool {
		return slices.Equal(x.Bucket, []string{bucket}) && bytes.Compare(key, x.Start) >= 0 &&
			(len(x.End) == 0 || bytes.Compare(key, x.End) < 0)
	}
	everything := func(r *stoat.SalvageReport) bool {
		return r.Older || r.MoreRanges > 0 || r.Values > len(r.Keys)
	}
	for _, d := range report.Problems {
		describe(d)
	}
	for _, k := range report.Keys {
		fetch(k)
	}
	for _, x := range report.Ranges {
		if key := exampleHash(7); lost(x, "hashes", key) {
			fmt.Printf("fetch %x…\n", key[:4])
		}
	}
	if everything(report) {
		fmt.Println("fetch everything")
	}
	// Output:
	// .table: checksum does not match
	// fetch winter
	// fetch 7902699b…
}

// A salvage of an encrypted database needs its key, and so does what it makes.
func ExampleSalvageWithKey() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	damaged, saved := filepath.Join(parent, "damaged"), filepath.Join(parent, "saved")
	key := bytes.Repeat([]byte("k"), 32) // in a program, from its secret store
	db, err := stoat.Open(damaged, &stoat.Options{Key: key})
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(db.Put([]byte("diary"), []byte("…")), db.Close()); err != nil {
		log.Fatal(err)
	}

	_, err = stoat.Salvage(context.Background(), damaged, saved)
	fmt.Println("without the key:", errors.Is(err, stoat.ErrKey))
	report, err := stoat.SalvageWithKey(context.Background(), damaged, saved, key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("keys:", report.Entries)
	// Output:
	// without the key: true
	// keys: 1
}

// A layer whose keys depend on each other checks them after a salvage that lost some, once.
func ExampleTx_Salvaged() {
	parent, err := os.MkdirTemp("", "stoat")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	damaged, saved := filepath.Join(parent, "damaged"), filepath.Join(parent, "saved")
	exampleDamaged(damaged)
	if _, err := stoat.Salvage(context.Background(), damaged, saved); err != nil {
		log.Fatal(err)
	}
	db, err := stoat.Open(saved, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	for range 2 { // as when the program starts
		err := db.Update(func(tx *stoat.Tx) error {
			salvage, err := tx.Salvaged()
			if err != nil || salvage == 0 {
				return err
			}
			checked, err := tx.Get([]byte("checked"))
			if err != nil && !errors.Is(err, stoat.ErrNotFound) {
				return err
			}
			number := binary.BigEndian.AppendUint64(nil, salvage)
			if bytes.Equal(checked, number) {
				return nil
			}
			fmt.Println("checking") // whether all indexes agree with the data, for instance
			return tx.Put([]byte("checked"), number)
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output: checking
}

// A report that was stored as JSON, such as that of stoat salvage -json, is shown to a person.
func ExampleSalvageReport_String() {
	const stored = `{"source": "my.db", "destination": "saved.db", "manifest": "MANIFEST",
		"tables": 3, "logs": 1, "lostValues": 1, "entries": 9, "bytes": 321,
		"keys": [{"bucket": ["photos"], "key": "d2ludGVy", "why": "000004.values is damaged"}]}`
	var report stoat.SalvageReport
	if err := json.Unmarshal([]byte(stored), &report); err != nil {
		log.Fatal(err)
	}
	fmt.Print(report.String())
	// Output:
	// 9 keys with their values were written to saved.db
	// (321 bytes). Read 3 tables and 1 logs of my.db.
	// Something is lost; everything not listed below is intact.
	//
	// Lost values, whose keys were left out:
	//   bucket "photos", key "winter": 000004.values is damaged
}
