package record_test

import (
	"cmp"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// A collection for each customer, made together with its first record.
func ExampleOpenTx() {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *stoat.Tx) error {
		users, err := record.OpenTx[User](tx, "users of example.org", nil)
		if err != nil {
			return err
		}
		return users.Put(tx, &User{ID: 1, Email: "ada@example.org"})
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		users, err := record.OpenTx[User](tx, "users of example.org", nil)
		if err != nil {
			return err
		}
		u, err := users.Get(tx, 1)
		fmt.Println(u.Email)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: ada@example.org
}

// A newer version of a type keeps the length of a track in seconds, not in minutes.
func ExampleOptions_migrate() {
	type TrackV0 struct {
		Title   string  `stoat:"title,key"`
		Minutes float64 `stoat:"minutes"`
	}
	type Track struct {
		Title   string `stoat:"title,key"`
		Seconds int    `stoat:"seconds"`
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	old, err := record.Open[TrackV0](db, "tracks", nil)
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error { return old.Put(tx, &TrackV0{"Winter fur", 4.5}) })
	if err != nil {
		log.Fatal(err)
	}

	tracks, err := record.Open(db, "tracks", &record.Options[Track]{
		Version: 1,
		Migrate: map[int]func(old record.Row, new *Track) error{
			0: func(old record.Row, new *Track) error {
				minutes, err := old.Float("minutes")
				new.Seconds = int(60 * minutes)
				return err
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		track, err := tracks.Get(tx, "Winter fur")
		fmt.Println(track.Title, track.Seconds)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: Winter fur 270
}

// A key that is computed from the record, here so that the newest comes first.
func ExampleOptions_key() {
	type Visit struct {
		Page string `stoat:"page"`
		Unix int64  `stoat:"unix"`
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	visits, err := record.Open(db, "visits", &record.Options[Visit]{
		Key: func(v *Visit) tuple.Tuple { return tuple.Tuple{v.Page, tuple.Desc(v.Unix)} },
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, v := range []Visit{{"/", 100}, {"/about", 200}, {"/", 300}} {
			if err := visits.Put(tx, &v); err != nil {
				return err
			}
		}
		for v, err := range visits.With(tx, "/") {
			if err != nil {
				return err
			}
			fmt.Println(v.Page, v.Unix)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// / 300
	// / 100
}

// An index over two fields, of which each pair may be there once: nobody votes twice on a question.
func ExampleIndex() {
	type Vote struct {
		ID       int64  `stoat:"id,key,auto"`
		Question string `stoat:"question"`
		User     string `stoat:"user"`
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	votes, err := record.Open(db, "votes", &record.Options[Vote]{
		Indexes: []record.Index{
			{Name: "once", Fields: []string{"question", "user"}, Unique: true},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, v := range []Vote{
			{Question: "fur", User: "ada"}, {Question: "fur", User: "bob"},
			{Question: "fur", User: "ada"},
		} {
			err := votes.Insert(tx, &v)
			if err != nil && !errors.Is(err, record.ErrDuplicate) {
				return err
			}
			fmt.Println(v.User, "votes:", err == nil)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// ada votes: true
	// bob votes: true
	// ada votes: false
}

// A tool that compares what the codecs take for the records of a program.
func ExampleCodec() {
	type Point struct {
		ID   int64 `stoat:"id,key"`
		X, Y float64
	}
	size := map[record.Codec]uint64{}
	codecs := []record.Codec{record.CodecBinary, record.CodecJSON, record.CodecGob}
	for _, codec := range codecs {
		db, err := stoat.OpenMemory(nil)
		if err != nil {
			log.Fatal(err)
		}
		defer db.Close()
		points, err := record.Open(db, "points", &record.Options[Point]{Codec: codec})
		if err != nil {
			log.Fatal(err)
		}
		err = db.Update(func(tx *stoat.Tx) error {
			if err := points.Put(tx, &Point{1, 0.25, 0.75}); err != nil {
				return err
			}
			b, err := tx.Bucket([]byte("points"))
			if err != nil {
				return err
			}
			stats, err := b.Stats()
			size[codec] = stats.Bytes
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	slices.SortFunc(codecs, func(a, b record.Codec) int { return cmp.Compare(size[a], size[b]) })
	for _, codec := range codecs {
		fmt.Println(codec.String())
	}
	// Output:
	// binary
	// json
	// gob
}

// A program keeps on using a collection that a newer version of it has changed: it must reopen it.
func ExampleErrOutdated() {
	db, users := exampleUsers()
	defer db.Close()
	type UserV2 struct {
		ID    int64  `stoat:"id,key"`
		Email string `stoat:"email,unique"`
	}
	if _, err := record.Open[UserV2](db, "users", nil); err != nil {
		log.Fatal(err)
	}
	err := db.Update(func(tx *stoat.Tx) error {
		err := users.Insert(tx, &User{ID: 1})
		fmt.Println("outdated:", errors.Is(err, record.ErrOutdated))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: outdated: true
}

// Insert, unlike Put, never replaces a record.
func ExampleErrExists() {
	db, users := exampleUsers()
	defer db.Close()
	err := db.Update(func(tx *stoat.Tx) error {
		err := users.Insert(tx, &User{ID: 1, Email: "new@example.org"})
		fmt.Println("exists:", errors.Is(err, record.ErrExists))
		u, err := users.Get(tx, 1)
		fmt.Println(u.Email)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// exists: true
	// ada@example.org
}
