#!/bin/sh
# Makes the files of docs/notebooks/hyperfine.ipynb with hyperfine 1.15: three programs at two levels, measured in three passes.
# Times of another machine are others, and the notebook's outputs with them.
set -eu
cd "$(dirname "$0")"
here=$PWD
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cd "$work"
python3 -c 'open("input", "wb").write(b"".join(b"%d %d\n" % (n, n * n % 977) for n in range(60000)))'
for pass in 1 2 3; do
    hyperfine --warmup 2 --runs 10 --parameter-list program gzip,bzip2,xz --parameter-list level 1,6 \
        --export-json "$here/pass-$pass.json" "{program} -{level} --stdout input"
done
