#!/bin/sh
# One trial: the same work by the program that is named.
here=$(dirname "$0")
built=${BUILT:-$here/built}
case $1 in
  c) exec "$built/work-c" ;;
  rust) exec "$built/work-rust" ;;
  python) exec python3 "$here/work.py" ;;
  adapter) exec trialwise stream output --format csv --name work --point block -- "$built/plain" ;;
  *) echo "usage: measure.sh c|python|rust|adapter" >&2; exit 2 ;;
esac
