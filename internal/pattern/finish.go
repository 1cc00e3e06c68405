package pattern

import "slices"

// finish makes the dictionary of those drafts that the samples use. It sets t.size to what they
// take encoded, not counting the last improvement.
func (t *trainer) finish(samples [][]byte) *Dictionary {
	t.addGeneral()
	d := t.build()
	half := make([][]byte, 0, len(samples)/2+1)
	for i := 0; i < len(samples); i += 2 {
		half = append(half, samples[i])
	}
	for _, samples := range [][][]byte{half, samples} {
		if d == nil {
			return nil
		}
		var used []uint32
		used, t.size = d.use(samples)
		for i := range t.drafts {
			t.drafts[i].count = used[i]
		}
		t.drop()
		d = t.build()
	}
	return d
}

// use encodes samples, and returns how often each token was used, and the size of the encoded
// samples.
func (d *Dictionary) use(samples [][]byte) (used []uint32, size int) {
	e := d.NewEncoder()
	e.used = make([]uint32, len(d.tokens))
	var buf []byte
	for _, p := range samples {
		buf = e.Append(buf[:0], p)
		size += len(buf)
	}
	return e.used, size
}

// drop removes unused drafts, and the least used ones if there are too many.
func (t *trainer) drop() {
	slices.SortStableFunc(t.drafts, func(a, b draft) int { return int(b.count) - int(a.count) })
	kept, size := t.drafts[:0], 0
	for _, d := range t.drafts {
		if d.count == 0 && !d.keep || size+d.size() > maxDictionaryBytes-1<<10 {
			continue
		}
		if d.keep || len(kept) < maxTokens-1<<10 {
			kept = append(kept, d)
			size += d.size()
		}
	}
	t.drafts = kept
}

// size returns how many bytes the draft takes in the dictionary at most.
func (d draft) size() int {
	n := 1
	for _, x := range d.ops {
		n += 4 + len(x.text)
		if x.base > 0 {
			n += 8
		}
	}
	return n
}

// addGeneral adds tokens for what is rare or absent in the samples.
func (t *trainer) addGeneral() {
	for _, x := range []op{
		{kind: kindNumber, bits: 10},
		{kind: kindNumber, bits: 20},
		{kind: kindDigits, n: 1, bits: 4},
		{kind: kindHex, n: hexMin, bits: 6},
		{kind: kindBase64, n: base64Min, bits: 8},
		{kind: kindUUID},
		{kind: kindTime, bits: 36},
		{kind: kindSame},
		{kind: kindSame, n: 1},
		{kind: kindCopy},
	} {
		t.drafts = append(t.drafts, draft{ops: []draftOp{{op: x}}, count: 1})
	}
	for _, x := range []op{{kind: kindBytes, n: 1, bits: 4}, {kind: kindNumber, bits: 64}} {
		t.drafts = append(t.drafts, draft{ops: []draftOp{{op: x}}, count: 1, keep: true})
	}
	var seen [256]bool
	for _, d := range t.drafts {
		if text := d.ops[0].text; len(d.ops) == 1 && len(text) == 1 {
			seen[text[0]] = true
		}
	}
	for c := range 256 {
		if !seen[c] {
			d := draft{count: 1}
			d.addPhrase([]byte{byte(c)})
			t.drafts = append(t.drafts, d)
		}
	}
	t.addSpare()
}

const (
	spareOf  = 16  // of the most used drafts with fields get spare tokens
	spareMax = 255 // the longest phrase that gets one
)

// addSpare adds tokens for values that are almost like the samples: each of the most used drafts
// again with wider fields, and its phrases by themselves, whose bytes the dictionary has anyway.
func (t *trainer) addSpare() {
	var top []draft
	for _, d := range t.drafts {
		if len(d.at) > 0 && len(d.ops) > 1 {
			top = append(top, d)
		}
	}
	slices.SortStableFunc(top, func(a, b draft) int { return int(b.count) - int(a.count) })
	seen := make(map[string]bool)
	for _, d := range top[:min(len(top), spareOf)] {
		wide := draft{keep: true}
		for _, x := range d.ops {
			wide.ops = append(wide.ops, x.widen())
			if len(x.text) >= 4 && len(x.text) <= spareMax && !seen[string(x.text)] {
				seen[string(x.text)] = true
				t.drafts = append(t.drafts, draft{ops: []draftOp{x}, keep: true})
			}
		}
		t.drafts = append(t.drafts, wide)
	}
}

// moreBits is how many more bits the numbers of spare tokens have: for values 250 times as large.
const moreBits = 8

// widen returns an op that stands for more.
func (x draftOp) widen() draftOp {
	switch {
	case x.kind == kindNumber:
		x.bits = min(x.bits+moreBits, 64)
	case x.kind == kindLittle || x.kind == kindBig:
		x.bits = min(x.bits+moreBits, uint8(8*x.n))
	case x.kind.based():
		x.bits = min(x.bits+moreBits, maxTimeBits)
	case x.kind == kindDigits:
		x.n, x.bits = min(x.n, maxDigits-1<<maxDigitsBits+1), maxDigitsBits
	case x.kind.counted() && x.kind != kindBytes:
		x.n, x.bits, x.at = 1, 8, 0
	}
	return x
}

// build makes a dictionary of the drafts, and sorts them by their codes. It returns nil if they are
// too many.
func (t *trainer) build() *Dictionary {
	if len(t.drafts) > maxTokens {
		return nil
	}
	counts := make([]uint32, len(t.drafts))
	for i, d := range t.drafts {
		counts[i] = d.count
	}
	lengths := codeLengths(counts)
	order := make([]int, len(t.drafts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(lengths[a]) - int(lengths[b]) })
	b := newBuilder()
	sorted := make([]draft, 0, len(t.drafts))
	for _, i := range order {
		b.add(b.make(t.drafts[i].ops), lengths[i])
		sorted = append(sorted, t.drafts[i])
	}
	t.drafts = sorted
	d, err := b.dictionary()
	if err != nil || len(d.Append(nil)) > maxDictionaryBytes {
		return nil
	}
	return d
}

// make returns ops whose references into the dictionary are set.
func (b *builder) make(ops []draftOp) []op {
	b.scratch = b.scratch[:0]
	for _, x := range ops {
		switch {
		case x.kind == kindPhrase:
			x.op = b.phrase(x.text, len(ops) > 1)
		case x.kind.based():
			x.at = b.base(x.base)
		}
		b.scratch = append(b.scratch, x.op)
	}
	return b.scratch
}
