package main

import "github.com/klauspost/compress/zstd"

const (
	blockBytes   = 32 << 10
	historyBytes = 64 << 10
	dictSamples  = 2000
)

func newEncoder(options ...zstd.EOption) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, append(options, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false))...)
}

// measureBlocks measures zstd over blocks of neighbouring records.
func (r *result) measureBlocks(values [][]byte) error {
	e, err := newEncoder()
	if err != nil {
		return err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer dec.Close()
	var block, out []byte
	var encoded [][]byte
	for i, v := range values {
		block = append(block, v...)
		if len(block) >= blockBytes || i == len(values)-1 {
			encoded = append(encoded, e.EncodeAll(block, nil))
			r.blocks += min(len(encoded[len(encoded)-1]), len(block))
			block = block[:0]
		}
	}
	n := min(len(encoded), timedBytes/blockBytes)
	r.decodeBlock = best(n, func(i int) { out, err = dec.DecodeAll(encoded[i], out[:0]) })
	return err
}

// measureAlone measures zstd over single records, with a dictionary made of others.
func (r *result) measureAlone(train, values [][]byte) error {
	forEncoder, forDecoder := dictionary(train)
	e, err := newEncoder(forEncoder)
	if err != nil {
		return err
	}
	dec, err := zstd.NewReader(nil, forDecoder, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer dec.Close()
	records := make([][]byte, len(values))
	for i, v := range values {
		records[i] = e.EncodeAll(v, nil)
		r.alone += min(len(records[i]), len(v))
	}
	var out []byte
	r.decodeAlone = best(timed(values), func(i int) { out, err = dec.DecodeAll(records[i], out[:0]) })
	return err
}

// dictionary returns the options for a dictionary: records, and codes for them unless zstd finds
// too little to make codes from.
func dictionary(train [][]byte) (zstd.EOption, zstd.DOption) {
	const id = 1
	var history []byte
	for _, v := range train {
		if len(history)+len(v) <= historyBytes {
			history = append(history, v...)
		}
	}
	dict, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID:       id,
		Contents: train[:min(len(train), dictSamples)],
		History:  history,
		Offsets:  [3]int{1, 4, 8},
		Level:    zstd.SpeedFastest,
	})
	if err != nil {
		return zstd.WithEncoderDictRaw(id, history), zstd.WithDecoderDictRaw(id, history)
	}
	return zstd.WithEncoderDict(dict), zstd.WithDecoderDicts(dict)
}
