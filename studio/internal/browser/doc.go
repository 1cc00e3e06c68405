// Package browser tests the studio in a real browser, headless Chromium, and makes the pictures of
// its documentation. It has no code of its own:
//
//	go test ./internal/browser -browser    fails if there is no Chromium; by default it skips
//	go test ./internal/browser -pictures ../../../docs/images
package browser
