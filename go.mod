module github.com/stoatdb/stoat

go 1.25.0

require (
	github.com/FastFilter/xorfilter v0.2.1
	github.com/klauspost/compress v1.20.3
	golang.org/x/sys v0.41.0
)
