package load

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestRates_spreadABatchOverItsTime(t *testing.T) {
	batches := []batch{{1000, 100 * ms}, {1000, 300 * ms}, {500, 50 * ms}}
	got := rates(batches, 100*ms)
	want := []float64{10_000, 3333.3, 3333.3, 3333.3, 10_000}
	if len(got) != len(want) {
		t.Fatalf("rates %v instead of %v", got, want)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1 {
			t.Errorf("rates %v instead of %v", got, want)
		}
	}
}

func TestRates_addUpToAllEntries(t *testing.T) {
	var batches []batch
	entries := 0
	for i := range 200 {
		batches = append(batches, batch{1000 + i, time.Duration(1+i*i%77) * ms})
		entries += 1000 + i
	}
	width := sliceWidth(total(batches))
	all := rates(batches, width)
	if len(all) < 20 || len(all) > 60 {
		t.Errorf("%d slices", len(all))
	}
	var sum float64
	left := total(batches)
	for _, rate := range all {
		sum += rate * min(left, width).Seconds()
		left -= width
	}
	if math.Abs(sum-float64(entries)) > 0.01 {
		t.Errorf("%v entries instead of %d", sum, entries)
	}
}

func TestSliceWidth_isARoundNumber(t *testing.T) {
	for total, want := range map[time.Duration]time.Duration{
		0:                  1,
		60 * ms:            1 * ms,
		61 * ms:            2 * ms,
		10 * time.Second:   200 * ms,
		290 * time.Second:  5 * time.Second,
		1000 * time.Second: 20 * time.Second,
	} {
		if got := sliceWidth(total); got != want {
			t.Errorf("slices of %v in %v", got, total)
		}
	}
}

func TestRecordBatches_keepsABoundedSample(t *testing.T) {
	for _, n := range []int{0, 1, batchSamples, batchSamples + 1, 7*batchSamples + 3} {
		var got int
		r := recorder(func(values []float64) { got += len(values) })
		r.plan.batch = 10
		batches := make([]batch, n)
		for i := range batches {
			batches[i] = batch{10, ms}
		}
		r.recordBatches(batches)
		if got > batchSamples || got < min(n, batchSamples/2) {
			t.Errorf("%d samples of %d batches", got, n)
		}
	}
}
