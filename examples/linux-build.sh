#!/usr/bin/env bash
# A Linux build alone and beside a service: how long it takes, what the service pays.
#
#   examples/linux-build.sh                        allnoconfig beside the hash service at 60 %
#   examples/linux-build.sh defconfig --arms weight --passes 1   an hour on 2 CPUs; TARGET=mm/ 2 minutes
#   URL=http://127.0.0.1:8080/ examples/linux-build.sh allnoconfig --rate 20000
#
# What follows the configuration goes to `plimsoll yield`; TARGET builds a part (TARGET=mm/).
# Needs Debian's packages linux-source, build-essential, bc, bison, flex, libelf-dev and
# libssl-dev, and 2 GB in WORK (default: /var/tmp/plimsoll-linux-build).
set -euo pipefail

config=${1:-allnoconfig}
shift || true
work=${WORK:-/var/tmp/plimsoll-linux-build}
target=${TARGET:-vmlinux}
plimsoll=${PLIMSOLL:-$(dirname "$0")/../target/release/plimsoll}

say() { printf '%s\n' "$*" >&2; }

[[ -x $plimsoll ]] || { say "no program at $plimsoll: cargo build --release, or set PLIMSOLL"; exit 2; }
source=$(find /usr/src -maxdepth 1 -name 'linux-source-*.tar.xz' | sort -V | tail -n 1)
[[ -n $source ]] || { say 'no source of Linux in /usr/src: apt-get install linux-source'; exit 2; }

tree=$work/$(basename "$source" .tar.xz)
if [[ ! -e $tree/Makefile ]]; then
  say "unpacking $source into $work"
  mkdir -p "$work"
  tar -xf "$source" -C "$work"
fi
out=$work/$config
make -s -C "$tree" "O=$out" "$config" >&2

# Everything is compiled anew each time; the configuration stays.
job="make -s -C '$out' clean && make -s -j$(nproc) -C '$out' $target"
patience=(--job-timeout 4h)
[[ " $* " != *' --job-timeout'* ]] || patience=()
exec "$plimsoll" yield ${URL:+"$URL"} --job "$job" "${patience[@]}" "$@"
