module github.com/stoatdb/stoat/studio

go 1.25.0

require (
	github.com/chromedp/cdproto v0.159.0
	github.com/chromedp/chromedp v0.23.0
	github.com/stoatdb/stoat v0.0.0
)

require (
	github.com/FastFilter/xorfilter v0.2.1 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/sys v0.46.0 // indirect
)

replace github.com/stoatdb/stoat => ../
