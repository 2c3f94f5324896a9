#!/bin/sh
# container.sh ROOM [PIP OPTION...]: runs the steps of the Containerfile in a Debian of debootstrap, then its command, as root here.
#
# ROOM is changed, so let it be a copy. Mounts belong to a namespace of their own; pip may be told where packages are, as
# `container.sh room --no-index --find-links /srv/wheels`.
set -eu
root=$(dirname "$(dirname "$(realpath "$0")")") room=$(realpath "$1")
shift
export PIP="$*"
exec unshare --mount --pid --fork sh -euc '
    cd "$1"; room=$2
    mount -t proc proc "$room/proc"
    mount -t tmpfs tmpfs "$room/tmp"
    mount --rbind /dev "$room/dev"
    cp /etc/resolv.conf "$room/etc/resolv.conf"
    path=/usr/sbin:/usr/bin:/sbin:/bin user=root folder=/ lang=C
    within() { chroot --userspec="$user" "$room" env -i PATH="$path" LANG="$lang" HOME="$folder" PIP_CONFIG_FILE=/etc/pip.conf sh -euc "cd $folder; $1"; }
    : > "$room/etc/pip.conf"
    case "$PIP" in "") ;; *) printf "[install]\nno-index = true\nfind-links = %s\n" "${PIP##* }" > "$room/etc/pip.conf" ;; esac
    while read -r word rest; do
        case $word in
        RUN) echo "RUN $rest"; within "$rest" ;;
        COPY) target=${rest##* }; mkdir -p "$room$target"; for each in ${rest% *}; do cp -r "$each"/. "$room$target" 2>/dev/null || cp "$each" "$room$target"; done ;;
        ENV) for each in $rest; do case $each in PATH=*) path=${each#PATH=} ;; LANG=*) lang=${each#LANG=} ;; esac; done ;;
        USER) user=$rest ;;
        WORKDIR) folder=$rest ;;
        CMD) echo "CMD $rest"; within "$(echo "$rest" | tr -d "[],\"")" ;;
        esac
    done < Containerfile
' container "$root" "$room"
