package vfs

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseBytes is how much is asked for at a time: of a longer range, the system reads as much as it
// reads in one request, which is this much at least by default, and forgets the rest.
const adviseBytes = 128 << 10

// residentPages is how many pages Resident asks for at a time: 1 MiB of them on most systems.
const residentPages = 256

// Resident reports whether all pages of data, part of a map, are in memory; true if that cannot be
// told. It takes a system call for each MiB. Any memory may be passed.
func Resident(data []byte) bool {
	const inMemory = 1
	page := uintptr(os.Getpagesize())
	for start, n := pages(data); n > 0; {
		var state [residentPages]byte
		part := min(n, residentPages*page)
		_, _, failed := unix.Syscall(unix.SYS_MINCORE, start, part, uintptr(unsafe.Pointer(&state)))
		runtime.KeepAlive(data)
		if failed != 0 {
			return true
		}
		for _, s := range state[:(part+page-1)/page] {
			if s&inMemory == 0 {
				return false
			}
		}
		start, n = start+part, n-part
	}
	return true
}

// WillNeed asks the system to begin to read the pages of data, part of a map. It does not wait for
// them and promises nothing. Any memory may be passed.
func WillNeed(data []byte) {
	for start, n := pages(data); n > 0; {
		part := min(n, adviseBytes)
		advise(start, part, unix.MADV_WILLNEED)
		start, n = start+part, n-part
	}
	runtime.KeepAlive(data)
}

// Populate waits until the pages of data, part of a map, are in memory. Unlike touching them, it
// lets other goroutines run meanwhile, and reads no pages around them. It promises nothing, and
// does not wait where the system is too old. Any memory may be passed.
func Populate(data []byte) {
	WillNeed(data) // or populating reads around as touching does
	if start, n := pages(data); n > 0 {
		advise(start, n, unix.MADV_POPULATE_READ)
	}
	runtime.KeepAlive(data)
}

// Provide waits until the system has provided the memory of data, which must be writable and not
// part of a map: writing to it later meets no page faults. It changes no byte and promises nothing.
func Provide(data []byte) {
	if start, n := pages(data); n > 0 {
		advise(start, n, unix.MADV_POPULATE_WRITE)
	}
	runtime.KeepAlive(data)
}

// pages returns where the page that data starts in starts, and how many bytes there are from there
// to the end of data: 0 if data is empty.
func pages(data []byte) (start, n uintptr) {
	if len(data) == 0 {
		return 0, 0
	}
	first := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	start = first &^ (uintptr(os.Getpagesize()) - 1)
	return start, first - start + uintptr(len(data))
}

// advise calls madvise with an address, because the page may start before the memory that the
// caller may point into. What goes wrong shows when the memory is read.
func advise(start, n uintptr, advice int) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, n, uintptr(advice))
}
