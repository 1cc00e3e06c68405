//go:build rocksdb && cgo

// The one question that RocksDB answers in C++ only.

#include <stdio.h>
#include <rocksdb/version.h>

extern "C" void rocks_version(char *text, size_t room) {
	snprintf(text, room, "%s", rocksdb::GetRocksVersionAsString().c_str());
}
