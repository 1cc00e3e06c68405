package remote

import (
	"context"
	"errors"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/objstore"
	"github.com/stoatdb/stoat/remote/s3"
)

// Credentials of the server, which does not look at them.
const (
	keyID  = "bench"
	secret = "benchbench"
)

// stoatClient returns a program of ours.
func stoatClient() *client { return &client{open: openStoat, restore: restoreStoat} }

func storeOf(r *request) (objstore.Store, error) {
	return s3.Open(s3.Options{
		Endpoint: r.Address, Insecure: true, Region: "us-east-1", Bucket: r.Bucket, Prefix: "db/",
		Credentials: credentials.NewStaticV4(keyID, secret, ""),
	})
}

// stoatDatabase is an open database of ours.
type stoatDatabase struct {
	*stoat.DB
	shipping *remote.DB     // nil if it does not ship
	reader   *remote.Reader // nil if it is no reader
	end      func() error
}

func openStoat(ctx context.Context, r *request) (database, error) {
	if r.Mode == modeLocal {
		db, err := stoat.Open(r.Dir, nil)
		if err != nil {
			return nil, err
		}
		return &stoatDatabase{DB: db, end: db.Close}, nil
	}
	store, err := storeOf(r)
	if err != nil {
		return nil, err
	}
	if r.Mode == modeRead {
		db, err := remote.OpenReader(ctx, store, r.Dir, &remote.ReaderOptions{CacheBytes: r.Cache})
		if err != nil {
			return nil, err
		}
		return &stoatDatabase{DB: db.DB, reader: db, end: db.Close}, nil
	}
	var o remote.Options
	if r.Mode == modeWait {
		o.Durability = remote.Wait
	}
	db, err := remote.Open(ctx, store, r.Dir, &o)
	if err != nil {
		return nil, err
	}
	return &stoatDatabase{DB: db.DB, shipping: db, end: db.Close}, nil
}

func (d *stoatDatabase) put(key, value []byte) error { return d.Put(key, value) }

func (d *stoatDatabase) get(key []byte) ([]byte, error) { return d.Get(key) }

func (d *stoatDatabase) load(from, to uint64) error {
	return d.Update(func(tx *stoat.Tx) error {
		for id := from; id < to; id++ {
			if err := tx.Put(keyOf(id), valueOf(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *stoatDatabase) scan() (records uint64, bytes int, err error) {
	err = d.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Range{}) {
			records++
			bytes += len(key) + len(value)
		}
		return tx.Err()
	})
	return records, bytes, err
}

func (d *stoatDatabase) ship(ctx context.Context) error {
	if d.shipping == nil {
		return nil
	}
	return d.shipping.Ship(ctx)
}

func (d *stoatDatabase) takeOver(ctx context.Context, dir string) error {
	if d.reader == nil {
		return errors.New("only a reader takes over")
	}
	db, err := d.reader.TakeOver(ctx, dir, &remote.Options{Durability: remote.Wait})
	if err == nil {
		*d = stoatDatabase{DB: db.DB, shipping: db, end: db.Close}
	}
	return err
}

func (d *stoatDatabase) close() error { return d.end() }

// restoreStoat restores the database in the store. The program has done nothing else, so the memory
// of that is its own, except for the pages of its file.
func restoreStoat(ctx context.Context, r *request) (peak float64, err error) {
	store, err := storeOf(r)
	if err == nil {
		err = remote.Restore(ctx, store, r.Dir, nil)
	}
	if err != nil {
		return 0, err
	}
	usage, err := machine.Now()
	return float64(usage.Peak - usage.File), err
}
