#!/bin/sh
# The title of a commit: `area: effect in the imperative`, at most 100 characters; the area is a room, a crate, or docs, tests, build, ….
title=$(head -n 1 "$1")
case $title in
    Merge*|Revert*|fixup!*) exit 0 ;;
esac
if ! printf '%s' "$title" | grep -Eq '^[a-z_]+(, [a-z_]+)*: [^ ].*[^.]$'; then
    echo "commit title: write \`area: effect in the imperative\`, without a full stop, as in \`report: round bounds outward\`" >&2
    exit 1
fi
if [ ${#title} -gt 100 ]; then
    echo "commit title: at most 100 characters; this has ${#title}; what does not fit belongs in the body" >&2
    exit 1
fi
