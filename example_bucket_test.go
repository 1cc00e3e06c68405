package stoat_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
)

// A draft becomes a chapter, with everything in it.
func ExampleTx_MoveBucket() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		draft, err := tx.CreateBucket([]byte("draft"))
		if err != nil {
			return err
		}
		if err := draft.Put([]byte("title"), []byte("Winter fur")); err != nil {
			return err
		}
		book, err := tx.CreateBucket([]byte("book"))
		if err != nil {
			return err
		}
		if err := tx.MoveBucket([]byte("draft"), book, []byte("chapter 7")); err != nil {
			return err
		}
		return book.RenameBucket([]byte("chapter 7"), []byte("chapter 8"))
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		book, err := tx.Bucket([]byte("book"))
		if err != nil {
			return err
		}
		chapter, err := book.Bucket([]byte("chapter 8"))
		if err != nil {
			return err
		}
		title, err := chapter.Get([]byte("title"))
		fmt.Printf("%s\n", title)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: Winter fur
}

// A function that works on the root as well as on any bucket.
func ExampleKeySpace() {
	db := exampleDB()
	defer db.Close()
	count := func(s stoat.KeySpace) (n int) {
		for range s.Keys(stoat.Range{}) {
			n++
		}
		return n
	}
	err := db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucket([]byte("bucket"))
		if err != nil {
			return err
		}
		if err := b.Put([]byte("key"), nil); err != nil {
			return err
		}
		fmt.Println(count(tx), count(b))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 0 1
}

func ExampleCursor_Delete() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		for _, key := range []string{"keep 1", "temporary 1", "keep 2"} {
			if err := tx.Put([]byte(key), nil); err != nil {
				return err
			}
		}
		c := tx.Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			if key[0] == 't' {
				if err := c.Delete(); err != nil {
					return err
				}
			}
		}
		if err := c.Err(); err != nil {
			return err
		}
		for key := range tx.Keys(stoat.Range{}) {
			fmt.Printf("%s\n", key)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// keep 1
	// keep 2
}

// The buckets after one, as for the next page of a list.
func ExampleTx_BucketsIn() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		for _, name := range []string{"badger", "marten", "otter", "stoat", "weasel"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		next := stoat.Range{Start: []byte("marten\x00"), Limit: 2}
		for name := range tx.BucketsIn(next) {
			fmt.Printf("%s\n", name)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// otter
	// stoat
}

func ExampleTx_Size() {
	db := exampleDB()
	defer db.Close()
	if err := db.Put([]byte("film"), make([]byte, 3_000_000)); err != nil {
		log.Fatal(err)
	}
	err := db.View(func(tx *stoat.Tx) error {
		size, err := tx.Size([]byte("film"))
		fmt.Println(size)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 3000000
}

// The size of a bucket with everything in it: Stats is of one bucket, without those within it.
func ExampleBucketStats() {
	db := exampleDB()
	defer db.Close()
	var size func(s stoat.KeySpace) (stoat.BucketStats, error)
	size = func(s stoat.KeySpace) (stoat.BucketStats, error) {
		total, err := s.Stats()
		for name := range s.Buckets() {
			b, err := s.Bucket(name)
			if err != nil {
				return total, err
			}
			within, err := size(b)
			if err != nil {
				return total, err
			}
			total.Keys += within.Keys
			total.Bytes += within.Bytes
		}
		return total, err
	}
	err := db.Update(func(tx *stoat.Tx) error {
		book, err := tx.CreateBucket([]byte("book"))
		if err != nil {
			return err
		}
		chapter, err := book.CreateBucket([]byte("chapter 1"))
		if err != nil {
			return err
		}
		err = errors.Join(book.Put([]byte("title"), []byte("Winter fur")),
			chapter.Put([]byte("page 1"), []byte("It snowed.")))
		if err != nil {
			return err
		}
		total, err := size(tx)
		fmt.Println(total.Keys, "keys,", total.Bytes, "bytes")
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 2 keys, 31 bytes
}

// Numbers that continue those of an earlier system.
func ExampleTx_SetSequence() {
	db := exampleDB()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		last, err := tx.Sequence()
		if err != nil {
			return err
		}
		if last < 10_000 {
			if err := tx.SetSequence(10_000); err != nil {
				return err
			}
		}
		id, err := tx.NextSequence()
		fmt.Println(id)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 10001
}
