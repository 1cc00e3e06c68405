# Each target is a step of .ci/run or a short command. Without arguments, .ci/run runs every step.
.PHONY: all test check race crash fuzz cross importer shell replica bucket raft adapters metrics studio boltcompat tour trust mutants bench bench-cgo cover

all: check test

test check race crash fuzz cross importer shell replica bucket raft adapters metrics studio boltcompat tour: ## a step of .ci/run
	.ci/run $@

trust: ## tries to lose data for a quarter of an hour and counts the attempts; .ci/run trust is short
	go run -C trust .

mutants: ## applies known bugs one by one; the tests must catch each
	.ci/mutants

bench: ## compares Stoat with other engines, see bench/README.md; .ci/run bench only tests the module
	go run -C bench .

bench-cgo: ## the same with LMDB and RocksDB; needs gcc, g++, liblmdb-dev and librocksdb-dev
	CGO_ENABLED=1 go run -C bench -tags lmdb,rocksdb .

cover: ## the coverage of all packages by all tests
	go test -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out
