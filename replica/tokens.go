package replica

import (
	"bytes"
	"errors"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// tokensMax is the most databases whose tokens are kept. The others compare all heads.
const tokensMax = 1024

// Token implements session.Space.
func (e endpoint) Token(database [16]byte) (token session.Token, err error) {
	e.s.mu.Lock()
	token, known := e.s.tokens[database]
	e.s.mu.Unlock()
	if known {
		return token, nil
	}
	err = e.view(func(t *txn) error {
		p, err := t.meta.Get(append([]byte(prefixToken), database[:]...))
		if missing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		at, err := parsePosition(p)
		token = at.Token
		return err
	})
	return token, err
}

// Remember implements session.Space.
func (e endpoint) Remember(database [16]byte, token session.Token) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	if e.s.tokens == nil {
		e.s.tokens = map[[16]byte]session.Token{}
	}
	if _, known := e.s.tokens[database]; known || len(e.s.tokens) < tokensMax {
		e.s.tokens[database] = token
	}
}

// Keep implements session.Space.
func (e endpoint) Keep(database [16]byte, token session.Token) error {
	err := e.s.db.Update(func(tx *stoat.Tx) error {
		t, err := e.s.in(tx)
		if err != nil {
			return err
		}
		if err := t.forgetTokens(); err != nil {
			return err
		}
		p := encodePosition(session.Position{Token: token})
		return t.meta.Put(append([]byte(prefixToken), database[:]...), p)
	})
	if errors.Is(err, stoat.ErrReadOnly) {
		return nil // the next session compares all heads
	}
	if err == nil {
		e.s.mu.Lock()
		delete(e.s.tokens, database)
		e.s.mu.Unlock()
	}
	return err
}

// forgetTokens makes room for a token, if there is none.
func (t *txn) forgetTokens() error {
	var first []byte
	n := 0
	for key := range t.meta.Scan(stoat.Prefix([]byte(prefixToken))) {
		if n++; n == 1 {
			first = bytes.Clone(key) // names of databases are hashes, so any is as good
		}
	}
	if err := t.tx.Err(); err != nil || n < tokensMax {
		return err
	}
	return t.meta.Delete(first)
}
