package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
	records "github.com/stoatdb/stoat/record"
)

func TestRecordReindex_makesCollectionsAndFeedsAgree(t *testing.T) {
	type user struct {
		ID   int    `stoat:"id,key"`
		Name string `stoat:"name,unique"`
	}
	dir := filepath.Join(t.TempDir(), "layers.db")
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	users, err := records.Open[user](db, "users", nil)
	if err != nil {
		t.Fatal(err)
	}
	posts, err := feed.Open[[]byte](db, "posts", nil)
	if err != nil {
		t.Fatal(err)
	}
	post := []byte("post")
	err = db.Update(func(tx *stoat.Tx) error {
		for i := range 3 {
			if err := users.Put(tx, &user{i, strings.Repeat("x", i)}); err != nil {
				return err
			}
			if _, err := posts.Append(tx, &post); err != nil {
				return err
			}
		}
		b, err := tx.Bucket([]byte("users"))
		if err != nil {
			return err
		}
		return b.DeleteBucket([]byte("index name"))
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	want := "users agrees with itself\nposts agrees with itself\n"
	if got := output(t, "record", "reindex", dir, "users", "posts"); got != want {
		t.Errorf("reindex prints %q, want %q", got, want)
	}
	if db, err = stoat.Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *stoat.Tx) error {
		if _, err := users.By("name").Get(tx, "xx"); err != nil {
			t.Errorf("the index is not there again: %v", err)
		}
		return users.Verify(tx)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}
