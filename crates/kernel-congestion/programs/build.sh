#!/bin/sh
# Builds NAME.bpf.o of each NAME.c into a folder (this one unless said). Needs clang and llvm-strip, version 14 for the
# very bytes that are kept here: CLANG=clang-14 STRIP=llvm-strip-14 ./build.sh [FOLDER]
set -eu
cd "$(dirname "$0")"
folder=${1:-.}
for source in *.c; do
    object=$folder/${source%.c}.bpf.o
    "${CLANG:-clang-14}" -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-missing-declarations \
        -fdebug-compilation-dir=. -c "$source" -o "$object"
    "${STRIP:-llvm-strip-14}" --strip-debug "$object"
done
