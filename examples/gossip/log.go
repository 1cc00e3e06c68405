package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// message is an entry of an author's chain: it contains the hash of the previous message, and is
// signed.
type message struct {
	Author    string // the public key
	Sequence  uint64 // 1, 2, 3 and so on, for each author
	Previous  []byte // hash of the author's previous message; empty in the first
	Type      string // "post", "vote" or the like
	Text      string
	Signature []byte
}

// signed returns the bytes that the signature covers.
func (m *message) signed() []byte {
	return fmt.Appendf(nil, "%x %d %x %q %q", m.Author, m.Sequence, m.Previous, m.Type, m.Text)
}

// hash returns the hash by which the author's next message refers to this one; nil if m is zero.
func (m *message) hash() []byte {
	if m.Sequence == 0 {
		return nil
	}
	sum := sha256.Sum256(append(m.signed(), m.Signature...))
	return sum[:]
}

// errForged reports a message that its author has not signed, or not at this position.
var errForged = errors.New("forged message")

// messageLog is all messages that a database has, of all authors. It is safe for concurrent use.
type messageLog struct {
	db   *stoat.DB
	feed *feed.Feed[message]
}

// openLog opens the database in a directory, and its log.
func openLog(dir string) (*messageLog, error) {
	db, err := stoat.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	messages, err := feed.Open(db, "messages", &feed.Options[message]{
		Sublogs: map[string]func(*message) []string{
			"author": func(m *message) []string { return []string{m.Author} },
			"type":   func(m *message) []string { return []string{m.Type} },
		},
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &messageLog{db, messages}, nil
}

// length returns the number of messages.
func (l *messageLog) length() (n uint64, err error) {
	err = l.db.View(func(tx *stoat.Tx) error {
		n, err = l.feed.Len(tx)
		return err
	})
	return n, err
}

// page returns some of the messages from next up to end; if there are none yet, it waits.
func (l *messageLog) page(ctx context.Context, next, end uint64) (page []message, err error) {
	const most = 500
	q := l.feed.Query().From(next).Before(end)
	for _, err := range q.Limit(1).Live(ctx, l.db) {
		if err != nil {
			return nil, err
		}
	}
	err = l.db.View(func(tx *stoat.Tx) error {
		for e, err := range q.Limit(most).All(tx) {
			if err != nil {
				return err
			}
			page = append(page, e.Value)
		}
		return nil
	})
	return page, err
}

// show prints the number of messages of each author and of each type.
func (l *messageLog) show(out io.Writer) error {
	return l.db.View(func(tx *stoat.Tx) error {
		for a, err := range l.feed.Addresses(tx, "author") {
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "author %x: %d\n", a.Name[:4], a.Count)
		}
		for a, err := range l.feed.Addresses(tx, "type") {
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "type %s: %d\n", a.Name, a.Count)
		}
		return nil
	})
}

// last returns the newest message of an author, or the zero message.
func (l *messageLog) last(tx *stoat.Tx, author string) (m message, err error) {
	e, err := l.feed.Query().Where(feed.In("author", author)).Last(tx)
	if errors.Is(err, stoat.ErrNotFound) {
		return m, nil
	}
	return e.Value, err
}

// publish signs a new message and appends it.
func (l *messageLog) publish(tx *stoat.Tx, key ed25519.PrivateKey, kind, text string) error {
	author := string(key[ed25519.SeedSize:])
	last, err := l.last(tx, author)
	if err != nil {
		return err
	}
	m := &message{author, last.Sequence + 1, last.hash(), kind, text, nil}
	m.Signature = ed25519.Sign(key, m.signed())
	_, err = l.feed.Append(tx, m)
	return err
}

// accept appends messages that others have sent, provided that each is the next one of its author.
// Otherwise it appends none of them.
func (l *messageLog) accept(messages []message) error {
	return l.db.Update(func(tx *stoat.Tx) error {
		for _, m := range messages {
			last, err := l.last(tx, m.Author)
			if err != nil {
				return err
			}
			if len(m.Author) != ed25519.PublicKeySize || m.Sequence != last.Sequence+1 ||
				!bytes.Equal(m.Previous, last.hash()) ||
				!ed25519.Verify([]byte(m.Author), m.signed(), m.Signature) {
				return fmt.Errorf("message %d of %.8x: %w", m.Sequence, m.Author, errForged)
			}
			if _, err := l.feed.Append(tx, &m); err != nil {
				return err
			}
		}
		return nil
	})
}
