#!/bin/sh
# room.sh RELEASE WHEEL: tries a wheel in a Debian of its own, as an ordinary user, without network, compiler and Rust.
#
# RELEASE is a release of Debian (bookworm has Python 3.11, trixie 3.13), which debootstrap puts into the folder
# ${TRIALWISE_ROOMS:-/var/cache/trialwise-rooms}/RELEASE the first time. Packages come from pip here, for the Python there. As root.
set -eu
release=$1 wheel=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
room=${TRIALWISE_ROOMS:-/var/cache/trialwise-rooms}/$release
[ -e "$room/etc/debian_version" ] || unshare --mount debootstrap --variant=minbase --include=python3-venv "$release" "$room"
python=$(chroot "$room" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
house=$room/srv/wheels work=$room/srv/work
mkdir -p "$house" "$work"
cp "$wheel" "$here/smoke.py" "$work"
"${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --dest "$house" --only-binary :all: \
    --constraint "$here/../constraints.txt" --python-version "$python" --implementation cp --abi "cp${python%.*}${python#*.}" --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 --platform any "$wheel"
chown -R 1000:1000 "$work"
# Mounts and the loopback interface belong to the namespaces, and go with them.
exec unshare --mount --net --pid --fork sh -euc '
    mount -t proc proc "$1/proc"
    mount -t tmpfs tmpfs "$1/tmp"
    ip link set lo up 2>/dev/null || true
    exec chroot --userspec=1000:1000 "$1" env -i HOME=/tmp PATH=/usr/bin:/bin LANG=C.UTF-8 \
        python3 /srv/work/smoke.py "/srv/work/$2" --find-links /srv/wheels --bare
' room "$room" "$(basename "$wheel")"
