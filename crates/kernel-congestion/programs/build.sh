#!/bin/sh
# Builds vegas.bpf.o and dctcp.bpf.o into a folder (this one unless said). Needs clang and llvm-strip, version 14 for the
# very bytes that are kept here: CLANG=clang-14 STRIP=llvm-strip-14 ./build.sh [FOLDER]
set -eu
cd "$(dirname "$0")"
folder=${1:-.}
for name in vegas dctcp; do
    "${CLANG:-clang-14}" -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-missing-declarations \
        -fdebug-compilation-dir=. -c "$name.c" -o "$folder/$name.bpf.o"
    "${STRIP:-llvm-strip-14}" --strip-debug "$folder/$name.bpf.o"
done
