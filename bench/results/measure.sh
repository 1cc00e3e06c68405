#!/bin/sh
# Measures everything in docs/benchmarks.md, and renews its tables and its picture: 40 minutes on
# two cores that do nothing else, of which large takes 3, growth 3, sync 10 and remote 10. It needs
# 24 GB of memory, 12 GB of free disk, LMDB, for the suite sync Node and npm, for the suite remote
# Cargo and, for the picture, Chromium.
# Linux only. Arguments choose parts: measure.sh ssb growth; none are all parts. Do not search these
# directories meanwhile: what another process reads of a database is in memory for all of them, and
# large fails.
#
# ROUNDS, MANY, LARGE, MEMORY and GROWTH make it smaller, to try it, or larger: ROUNDS=1 MANY=100000
# LARGE=1000000 MEMORY=100MiB GROWTH=100000.
set -eu
cd "$(dirname "$0")/.."
rounds=${ROUNDS:-3} many=${MANY:-1000000} growth=${GROWTH:-10000000}
large=${LARGE:-10000000} memory=${MEMORY:-1GiB}
reads=read_random,read_sequential,read_iterate,read_iterate_touch
gets=get_1,get_128,iterate,iterate_keys
some=stoat,bbolt,lmdb,pebble

bench=results/bench.tmp status=0
CGO_ENABLED=1 go build -tags lmdb -o $bench .

# measure NAME FLAGS… makes results/NAME.json.
measure() {
	name=$1
	shift
	echo "=== $name"
	$bench -out results/out.tmp "$@" || status=1 # what was measured before is kept
	mv results/out.tmp/results.json "results/$name.json"
}

[ $# -gt 0 ] || set -- ssb many large growth load churn records docs sync remote
for part; do
	case $part in
	ssb) measure ssb -suite ssb -profile full -rounds "$rounds" -turns -engine $some,badger,sqlite-wal ;;
	many) measure many -suite ssb -profile full -rounds 1 -n "$many" -engine $some,badger \
		-op "append,$reads,close_at_once,open_at_once,size_at_once,memory,memory_load" ;;
	large) measure large -suite ssb -profile full -rounds 1 -n "$large" -memory "$memory" \
		-timeout 10m -engine $some -op "append,$reads" ;;
	growth) measure growth -suite growth -profile full -rounds 1 -n "$growth" -engine $some ;;
	load) measure load -suite load -profile full -rounds 1 -n $((many / 4)) -engine $some \
		-op "load,load_settled,size,$gets,memory_own,order_load,beside_p99,beside_p999" ;;
	churn) measure churn -suite load -profile full -rounds 1 -n $((many / 10)) \
		-engine stoat,bbolt,pebble -op churn,churn_size,churn_get,churn_iterate ;;
	records) measure records -suite strategies,items -rounds "$rounds" -n 10000 ;;
	docs) measure docs -suite docs -rounds 1 -data json \
		-engine stoat,stoat-none,stoat-zstd,bbolt ;;
	sync)
		if command -v npm >/dev/null; then $bench install || true; fi # others are left out without it
		measure sync -suite sync -profile full -rounds "$rounds" ;;
	remote)
		$bench install || true # others are left out without it
		measure remote -suite remote -profile full -rounds 1 ;;
	*) echo "no part $part" >&2 && exit 1 ;;
	esac
done

if [ -e results/growth.json ] && command -v chromium >/dev/null; then
	$bench report -charts results/growth.tmp.html results/growth.json
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1150,340 \
		--screenshot=../docs/images/growth.png "file://$PWD/results/growth.tmp.html" 2>/dev/null
	rm results/growth.tmp.html
fi
$bench report -update ../docs/benchmarks.md
rm -rf $bench results/out.tmp
exit $status
