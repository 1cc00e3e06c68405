module github.com/stoatdb/stoat/studio

go 1.25.0

require github.com/stoatdb/stoat v0.0.0

require (
	github.com/FastFilter/xorfilter v0.2.1 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/sys v0.46.0 // indirect
)

replace github.com/stoatdb/stoat => ../
