package main

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/replica"
)

// keyFilePrefix begins the only line of a key file; the key follows in hexadecimal.
const keyFilePrefix = "stoat-device-1 "

// defaultKeyFile returns the key file of the user, or an empty name if there is no place for one.
func defaultKeyFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "stoat", "device.key")
}

// loadKeyFile returns the device of a key file. The error is fs.ErrNotExist if there is none.
func loadKeyFile(name string) (*replica.Device, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: give the key file of the device", name)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read or changed by others: make a new device, or \"chmod "+
			"600\" it if nobody has done so", name)
	}
	if info.Size() > keyFileMax {
		return nil, damagedKeyFile(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	digits, found := bytes.CutPrefix(bytes.TrimSpace(text), []byte(keyFilePrefix))
	key := make([]byte, hex.DecodedLen(len(digits)))
	if _, err := hex.Decode(key, digits); err != nil || !found {
		return nil, damagedKeyFile(name)
	}
	device, err := replica.LoadDevice(key)
	if err != nil {
		return nil, damagedKeyFile(name)
	}
	return device, nil
}

// keyFileMax is more than a key file has.
const keyFileMax = 1 << 10

// damagedKeyFile returns the error for a file that has no key. It quotes nothing of it.
func damagedKeyFile(name string) error {
	return fmt.Errorf("%s is not the key file of a device, or is damaged: restore a copy, or make a "+
		"new device with \"stoat replica device\" and the name of another file", name)
}

// makeKeyFile makes a device and its key file, which must not exist. The key is durable when it
// returns.
func makeKeyFile(name string) (*replica.Device, error) {
	device, err := replica.NewDevice()
	if err != nil {
		return nil, err
	}
	if err := vfs.OS().MkdirAll(filepath.Dir(name)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(f, "%s%x\n", keyFilePrefix, device.Key())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = vfs.OS().SyncDir(filepath.Dir(name))
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(name))
	}
	return device, nil
}

// requireKeyFile is loadKeyFile for commands that need the device.
func requireKeyFile(name string) (*replica.Device, error) {
	if name == "" {
		return nil, cmdline.Usagef("-device: give the key file of the device")
	}
	device, err := loadKeyFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no key file %s: make one with \"stoat replica device %s\"",
			name, name)
	}
	return device, err
}
