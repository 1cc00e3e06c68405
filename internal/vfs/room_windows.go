package vfs

import "golang.org/x/sys/windows"

func roomOf(dir string) (bytes uint64, known bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(path, &bytes, nil, nil)
	}
	return bytes, err == nil
}
