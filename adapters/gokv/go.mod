module github.com/stoatdb/stoat/adapters/gokv

go 1.25.0

require (
	github.com/philippgille/gokv v0.7.0
	github.com/philippgille/gokv/encoding v0.7.0
	github.com/philippgille/gokv/test v0.7.0
	github.com/stoatdb/stoat v0.0.0
)

require (
	github.com/FastFilter/xorfilter v0.2.1 // indirect
	github.com/go-test/deep v1.1.0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/sys v0.41.0 // indirect
)

replace github.com/stoatdb/stoat => ../..
