package strategies

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestUsers_haveTheStudysForm(t *testing.T) {
	d := users(t, 5)
	r := d.schema.newRecord()
	if len(r.fields) != 15 {
		t.Errorf("%d fields", len(r.fields))
	}
	for id := range 2000 {
		d.fill(r, id)
		u, isUser := r.whole.(*User)
		if !isUser || u.ID != int64(id) || len(u.Description) != descriptionBytes {
			t.Fatalf("record %d is %+v", id, r.whole)
		}
	}
	d.fill(r, 77)
	u, _ := r.whole.(*User)
	got := u.Username + " " + u.Email + " " + u.FirstName + " " + u.LastName
	if got != "user_77 user77@example.com First_77 Last_77" {
		t.Error(got)
	}
}

func TestUsers_dependOnTheSeedAlone(t *testing.T) {
	text := func(seed uint64, id int) string {
		d := users(t, seed)
		r := d.schema.newRecord()
		d.fill(r, 3)
		d.fill(r, id)
		b, err := json.Marshal(r.whole)
		ok(t, err)
		return string(b)
	}
	if first, again := text(1, 5), text(1, 5); first != again {
		t.Error("one seed gave two data sets")
	}
	if text(1, 5) == text(2, 5) {
		t.Error("two seeds gave one data set")
	}
}

func TestSchema_rejectsFieldsThatNoStrategyStores(t *testing.T) {
	type odd struct {
		Count int64  `json:"count"`
		Back  *int64 `json:"back"`
	}
	if _, err := newSchema(reflect.TypeFor[odd]()); err == nil {
		t.Error("no error")
	}
}
