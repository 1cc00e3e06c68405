//go:build unix && !aix && !solaris

package vfs

import "golang.org/x/sys/unix"

func link(from, to place) error {
	return from.do("link", func(dir int) error {
		return to.do("link", func(target int) error {
			return unix.Linkat(dir, from.name, target, to.name, 0)
		})
	})
}
