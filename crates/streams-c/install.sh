#!/bin/sh
# Lays out the C library: sh crates/streams-c/install.sh BUILT PREFIX
# BUILT is cargo's folder with libtrialwise_streams.so and .a (target/release); DESTDIR is put before PREFIX, for packages.
set -eu

[ $# -eq 2 ] || { echo "usage: install.sh BUILT PREFIX, for example: install.sh target/release /usr/local" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
built=$1
prefix=$2
root=${DESTDIR:-}$prefix
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../../Cargo.toml")
for file in "$built/libtrialwise_streams.so" "$built/libtrialwise_streams.a"; do
  [ -f "$file" ] || { echo "install.sh: there is no $file; build it: cargo build --release -p trialwise-streams-c" >&2; exit 2; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The names that programs may use are those that the shared library exports.
nm -D --defined-only "$built/libtrialwise_streams.so" | awk '{ print $NF }' > "$scratch/names"

# The static library: one object with these names alone visible, so that nothing of it meets a program's own Rust or C.
sed 's/^/-u /' "$scratch/names" > "$scratch/wanted"
ld -r --gc-sections -o "$scratch/whole.o" @"$scratch/wanted" "$built/libtrialwise_streams.a"
# (The standard library carries LLVM bitcode, on which an older LLVM in ar stumbles.)
objcopy --keep-global-symbols="$scratch/names" --remove-section=.llvmbc --remove-section=.llvmcmd --strip-debug "$scratch/whole.o" "$scratch/trialwise_streams.o"
ar rcs "$scratch/libtrialwise_streams.a" "$scratch/trialwise_streams.o"

mkdir -p "$root/lib/pkgconfig" "$root/include/oml2" "$root/include/ocomm" "$root/include/trialwise"
for folder in oml2 ocomm trialwise; do
  install -m 644 "$here/include/$folder"/*.h "$root/include/$folder/"
done
# The shared library under its version, the name that programs carry (its soname), and the name that they are linked by.
shared=libtrialwise_streams.so.$version
soname=$(objdump -p "$built/libtrialwise_streams.so" | awk '$1 == "SONAME" { print $2 }')
install -m 755 "$built/libtrialwise_streams.so" "$root/lib/$shared"
objcopy --strip-debug "$root/lib/$shared"
ln -sf "$shared" "$root/lib/$soname"
[ "$soname" = libtrialwise_streams.so ] || ln -sf "$soname" "$root/lib/libtrialwise_streams.so"
install -m 644 "$scratch/libtrialwise_streams.a" "$root/lib/libtrialwise_streams.a"
for name in oml2 ocomm; do
  ln -sf libtrialwise_streams.so "$root/lib/lib$name.so"
  ln -sf libtrialwise_streams.a "$root/lib/lib$name.a"
done
for name in trialwise-streams liboml2; do
  sed -e "s|@PREFIX@|$prefix|" -e "s|@NAME@|$name|" -e "s|@VERSION@|$version|" "$here/trialwise-streams.pc.in" > "$root/lib/pkgconfig/$name.pc"
done
