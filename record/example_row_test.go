package record_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// Sensor has a field of each kind that a row can read.
type Sensor struct {
	ID      [16]byte  `stoat:"id,key"`
	Name    string    `stoat:"name"`
	On      bool      `stoat:"on"`
	Celsius float32   `stoat:"celsius"`
	Drift   int8      `stoat:"drift"`
	Reads   uint32    `stoat:"reads"`
	Seen    time.Time `stoat:"seen"`
	Raw     []byte    `stoat:"raw"`
}

// exampleSensors returns a collection with a sensor, in a database in memory.
func exampleSensors(codec record.Codec) (*stoat.DB, *record.Collection[Sensor]) {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	sensors, err := record.Open(db, "sensors", &record.Options[Sensor]{Codec: codec})
	if err != nil {
		log.Fatal(err)
	}
	seen := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err = db.Update(func(tx *stoat.Tx) error {
		return sensors.Put(tx, &Sensor{[16]byte{15: 7}, "den", true, 19.5, -2, 400, seen, []byte{1}})
	})
	if err != nil {
		log.Fatal(err)
	}
	return db, sensors
}

// Each kind of field has a method of a Row.
func ExampleRow() {
	db, sensors := exampleSensors(record.CodecBinary)
	defer db.Close()
	show := func(row record.Row) error {
		id, err := row.UUID("id")
		on, err1 := row.Bool("on")
		celsius, err2 := row.Float("celsius")
		drift, err3 := row.Int("drift")
		reads, err4 := row.Uint("reads")
		seen, err5 := row.Time("seen")
		raw, err6 := row.Bytes("raw") // of a string, too, without a copy
		fmt.Println(id[15], on, celsius, drift, reads, seen.Year(), raw)
		return errors.Join(err, err1, err2, err3, err4, err5, err6)
	}
	err := db.View(func(tx *stoat.Tx) error {
		for row, err := range sensors.Query().Rows(tx) {
			if err != nil {
				return err
			}
			if err := show(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: 7 true 19.5 -2 400 2026 [1]
}

// A server that sends records as they are stored, with a codec whose format its clients know.
func ExampleRow_Stored() {
	type Note struct {
		ID   int    `stoat:"id,key" json:"id"`
		Text string `stoat:"text" json:"text"`
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	notes, err := record.Open(db, "notes", &record.Options[Note]{Codec: record.CodecJSON})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Update(func(tx *stoat.Tx) error {
		if err := notes.Put(tx, &Note{1, "Feed the stoat"}); err != nil {
			return err
		}
		for row, err := range notes.Query().Rows(tx) {
			if err != nil {
				return err
			}
			key, err := row.Key()
			if err != nil {
				return err
			}
			fmt.Printf("%v %s\n", key, row.Stored())
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [1] {"id":1,"text":"Feed the stoat"}
}
