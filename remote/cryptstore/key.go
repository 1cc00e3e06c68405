package cryptstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	keyPrefix = "key/"
	keysMax   = 1000 // at a time: there is one, and another one while it is changed
	tries     = 10   // while others change the key, or the store does not say what it has
)

// keyName returns the name of the object with a number that has the wrapped data key.
func keyName(number uint64) string { return fmt.Sprintf("%s%06d", keyPrefix, number) }

// keyNumber returns the number of such an object.
func keyNumber(name string) (number uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, keyPrefix)
	number, err := strconv.ParseUint(digits, 10, 63)
	return number, ok && err == nil && keyName(number) == name
}

// Open returns a store that keeps objects in another one, encrypted with a key of 32 random bytes.
// An empty store becomes one of that key. The error matches stoat.ErrKey if the store has another
// key, or objects that are not encrypted. It takes one request, or a few the first time and after
// [Rekey].
//
// **If the key is lost, so is everything in the store.** Open keeps no reference to the key.
func Open(ctx context.Context, store objstore.Store, key []byte) (*Store, error) {
	k, err := cryptfs.NewKey(key)
	if err != nil {
		return nil, fmt.Errorf("open an encrypted store: %w", err)
	}
	secret, err := establish(ctx, store, k)
	if err != nil {
		return nil, fmt.Errorf("open an encrypted store: %w", err)
	}
	return &Store{layout{pageBytes}, store, secret}, nil
}

// establish returns the data key of a store, and makes one if the store is empty.
func establish(
	ctx context.Context, store objstore.Store, key *cryptfs.Key,
) (secret cryptfs.Secret, err error) {
	secret, err = read(ctx, store, keyName(1), key)
	if err == nil || !errors.Is(err, objstore.ErrNotExist) && !corrupt.IsLasting(err) {
		return secret, err
	}
	var wrapped []byte // the same whenever it is tried
	for range tries {
		other, err := otherThanKeys(ctx, store) // first: who stores objects has made a key before
		if err != nil {
			return secret, err
		}
		found, err := find(ctx, store, key)
		switch {
		case err != nil || found.number > 0:
			return found.secret, err
		case found.failed != nil:
			return secret, found.failed
		case other != "":
			return secret, fmt.Errorf("the store has %s, and no key: it is not encrypted, or its objects "+
				"%s* are lost; to encrypt a database, restore it and open the copy with another store: %w",
				other, keyPrefix, corrupt.ErrKey)
		}
		if wrapped == nil {
			if secret, err = cryptfs.NewSecret(); err == nil {
				wrapped, err = key.Wrap(secret)
			}
			if err != nil {
				return secret, err
			}
		}
		err = store.Create(ctx, keyName(1), wrapped)
		if err == nil || !errors.Is(err, objstore.ErrExists) && !errors.Is(err, objstore.ErrUnknown) {
			return secret, err
		}
	}
	return secret, fmt.Errorf("create %s: %w", keyName(1), objstore.ErrUnknown)
}

// otherThanKeys returns the name of an object of a store that is no key; none if there is none.
func otherThanKeys(ctx context.Context, store objstore.Store) (string, error) {
	for _, from := range []string{"", keyPrefix + "~"} { // before the keys, and after them
		listed, err := store.List(ctx, "", from, 1)
		if err != nil {
			return "", err
		}
		if len(listed) > 0 && !strings.HasPrefix(listed[0].Name, keyPrefix) {
			return listed[0].Name, nil
		}
	}
	return "", nil
}

// read returns the data key in an object, which one of the keys opens.
func read(
	ctx context.Context, store objstore.Store, name string, keys ...*cryptfs.Key,
) (secret cryptfs.Secret, err error) {
	wrapped, err := store.Get(ctx, name, 0, -1)
	if err != nil {
		return secret, err
	}
	for _, key := range keys {
		if secret, err = key.Unwrap(name, wrapped); err == nil {
			break
		}
	}
	return secret, err
}

// found is what a store has of its data key.
type found struct {
	secret cryptfs.Secret
	number uint64   // of an object that has it with one of the keys; 0 if there are none
	names  []string // of all objects with keys
	most   uint64   // their highest number
	failed error    // of those that none of the keys opens
}

// find looks for the data key of a store, with some keys.
func find(
	ctx context.Context, store objstore.Store, keys ...*cryptfs.Key,
) (f found, err error) {
	for range tries {
		f, err = findOnce(ctx, store, keys)
		if !errors.Is(err, objstore.ErrNotExist) { // else the key was changed meanwhile
			break
		}
	}
	return f, err
}

func findOnce(
	ctx context.Context, store objstore.Store, keys []*cryptfs.Key,
) (f found, err error) {
	listed, err := store.List(ctx, keyPrefix, "", keysMax)
	if err != nil {
		return f, err
	}
	for _, o := range listed {
		number, ok := keyNumber(o.Name)
		if !ok {
			continue
		}
		f.names, f.most = append(f.names, o.Name), max(f.most, number)
		secret, err := read(ctx, store, o.Name, keys...)
		switch {
		case err == nil && f.number > 0 && secret != f.secret:
			return f, fmt.Errorf("%s and %s have different keys, and one of them is not that of the "+
				"objects here: %w", keyName(f.number), o.Name, corrupt.ErrKey)
		case err == nil:
			f.secret, f.number = secret, number
		case corrupt.IsLasting(err):
			f.failed = errors.Join(f.failed, err)
		default:
			return f, err
		}
	}
	return f, nil
}

// Rekey makes newKey the key of an encrypted store in the place of key, by one small object. Stores
// that are open go on. After an error, the store opens with one of the keys or both: call Rekey
// again, which finishes what it has begun. Folders that are encrypted with the key keep it, until
// stoat.Rekey changes that.
//
// The objects stay encrypted with a key of their own, which a Rekey does not change. So whoever has
// the old key and had access to the store can read what is written later. If the old key may be
// known to others, restore the database and open the copy with another store.
func Rekey(ctx context.Context, store objstore.Store, key, newKey []byte) error {
	if err := rekey(ctx, store, key, newKey); err != nil {
		return fmt.Errorf("change the key of an encrypted store: %w", err)
	}
	return nil
}

func rekey(ctx context.Context, store objstore.Store, key, newKey []byte) error {
	from, err := cryptfs.NewKey(key)
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	to, err := cryptfs.NewKey(newKey)
	if err != nil {
		return fmt.Errorf("newKey: %w", err)
	}
	old, err := find(ctx, store, from, to)
	switch {
	case err != nil:
		return err
	case old.failed != nil: // it may have the data key, and another Rekey may be about to rely on it
		return fmt.Errorf("nothing was changed: %w", old.failed)
	case old.number == 0:
		return fmt.Errorf("the store has no objects %s*, it is not encrypted: %w", keyPrefix,
			corrupt.ErrKey)
	}
	wrapped, err := to.Wrap(old.secret)
	if err != nil {
		return err
	}
	name := keyName(old.most + 1)
	if err := store.Create(ctx, name, wrapped); err != nil {
		return err
	}
	if err := store.Delete(ctx, old.names); err != nil {
		return err
	}
	_, err = read(ctx, store, name, to)
	return err
}
