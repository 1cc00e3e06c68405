package engine

import (
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

func bboltEngines() []Engine {
	plain := Engine{
		About: About{Name: "bbolt", Module: "go.etcd.io/bbolt", Settings: "none"},
		Open: func(dir string, o Options) (Store, error) {
			return openBbolt(dir, o, codec{})
		},
	}
	bySnappy, byZstd := plain, plain
	bySnappy.Name, bySnappy.Extra = "bbolt-snappy", true
	bySnappy.Settings = "none; each value compressed outside the engine"
	bySnappy.Open = func(dir string, o Options) (Store, error) {
		return openBbolt(dir, o, snappyCodec())
	}
	byZstd.Name, byZstd.Extra, byZstd.Settings = "bbolt-zstd", true, bySnappy.Settings
	byZstd.Open = func(dir string, o Options) (Store, error) {
		c, err := zstdCodec()
		if err != nil {
			return nil, err
		}
		return openBbolt(dir, o, c)
	}
	return []Engine{plain, bySnappy, byZstd, boltcompatEngine()}
}

// boltcompatEngine is the program of [bboltStore] on Stoat, with its import changed.
func boltcompatEngine() Engine {
	return Engine{
		About: About{
			Name: "boltcompat", Module: "github.com/stoatdb/stoat/boltcompat", Settings: "none",
			Extra: true,
		},
		Open: func(dir string, o Options) (Store, error) {
			return openBoltcompat(dir, o, codec{})
		},
	}
}

func bboltBucket() []byte { return []byte("messages") }

// codec compresses each value individually, outside the engine. The zero value does not compress.
// Its functions are safe for concurrent use.
type codec struct {
	encode func(value []byte) []byte
	decode func(stored []byte) ([]byte, error)
}

func snappyCodec() codec {
	return codec{
		encode: func(value []byte) []byte { return snappy.Encode(nil, value) },
		decode: func(stored []byte) ([]byte, error) { return snappy.Decode(nil, stored) },
	}
}

func zstdCodec() (codec, error) {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		return codec{}, err
	}
	r, err := zstd.NewReader(nil)
	if err != nil {
		return codec{}, err
	}
	return codec{
		encode: func(value []byte) []byte { return w.EncodeAll(value, nil) },
		decode: func(stored []byte) ([]byte, error) { return r.DecodeAll(stored, nil) },
	}, nil
}
