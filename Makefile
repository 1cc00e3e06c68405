# Every target is a step of .ci/run, or a short go command; .ci/run alone runs all the checks.
.PHONY: all check test race crash fuzz cross trust mutants bench bench-cgo cover

all: check test

check test race crash cross fuzz: ## the steps of .ci/run; CRASH_POINTS, KILLS and FUZZ_INPUTS make them longer
	.ci/run $@

trust: ## tries to lose something for a quarter of an hour, and counts what it tried
	go run -C trust .

mutants: ## puts known bugs in, one by one, and wants the tests to catch each
	.ci/mutants

bench: ## compares Stoat with other engines; see bench/README.md
	go run -C bench .

bench-cgo: ## the same with LMDB and RocksDB; needs gcc, g++, liblmdb-dev and librocksdb-dev
	CGO_ENABLED=1 go run -C bench -tags lmdb,rocksdb .

cover: ## what the tests of all packages reach together
	go test -coverpkg=./... -coverprofile=cover.out ./...
	go tool cover -func=cover.out
