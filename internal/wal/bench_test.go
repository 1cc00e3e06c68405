package wal

import (
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

// BenchmarkCommit appends and flushes one frame at a time to a real disk.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{100, 4096, 2 << 20} {
		for _, reach := range []Reach{Written, Durable} {
			b.Run(fmt.Sprintf("%d/sync=%v", size, reach == Durable), func(b *testing.B) {
				s, err := Create(vfs.OS(), b.TempDir(), testNumber, testDatabase)
				check(b, err)
				batch := frames(make([]byte, size-HeaderBytes))
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for number := uint64(1); b.Loop(); number++ {
					check(b, s.Reserve(int64(size)))
					s.Append(batch, number, true)
					_, err := s.Write(reach)
					check(b, err)
				}
				check(b, s.Close())
			})
		}
	}
}

// BenchmarkWrite writes many small commits at once, with frames adjacent in memory or not.
func BenchmarkWrite(b *testing.B) {
	const n, size = 100, 500
	for _, together := range []bool{true, false} {
		b.Run(fmt.Sprintf("neighbours=%v", together), func(b *testing.B) {
			s, err := Create(vfs.OS(), b.TempDir(), testNumber, testDatabase)
			check(b, err)
			chunk := make([]byte, n*size)
			number := uint64(0)
			for b.Loop() {
				check(b, s.Reserve(n*size))
				for i := range n {
					number++
					frame := chunk[i*size : (i+1)*size]
					if !together {
						frame = frame[:size:size]
					}
					s.Append([][]byte{frame}, number, true)
				}
				_, err := s.Write(Written)
				check(b, err)
			}
			check(b, s.Close())
		})
	}
}

// BenchmarkReplay replays 16 MiB of commits, or of preallocated zeros.
func BenchmarkReplay(b *testing.B) {
	const total, size = 16 << 20, 16 << 10
	for _, zeros := range []bool{false, true} {
		b.Run(fmt.Sprintf("zeros=%v", zeros), func(b *testing.B) {
			dir := b.TempDir()
			s, err := Create(vfs.OS(), dir, testNumber, testDatabase)
			check(b, err)
			check(b, s.Reserve(total))
			batch := frames(make([]byte, size-HeaderBytes))
			for number := uint64(1); !zeros && number <= total/size; number++ {
				s.Append(batch, number, true)
				_, err = s.Write(Written)
				check(b, err)
			}
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				_, err := Replay(vfs.OS(), dir, testNumber, testDatabase, 0,
					func(uint64, []Payload) error { return nil })
				check(b, err)
			}
			check(b, s.Close())
		})
	}
}
