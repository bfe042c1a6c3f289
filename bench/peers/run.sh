#!/usr/bin/env bash
# The same work done by pfnm, pnpm, Bun, Yarn and npm, each timed from fork to exit by one harness.
#
# usage: run.sh [--project DIR] [--rounds N] [--slow-rounds N] [--dir DIR | --loop SIZE] [--out DIR] [--pfnm FILE]
#               [--tools LIST] [--wait SECONDS] [--chart]
#   --project DIR    what is installed: a directory with package.json and package-lock.json
#                    (default: $CORPUS/_synthetic/exp-repo); it is copied, nothing is written to it
#   --rounds N       measured rounds (default 15)
#   --slow-rounds N  rounds of Yarn and npm (default 3)
#   --loop SIZE      a new ext4 with a journal in a sparse file (default, 16G; needs root)
#   --dir DIR        an existing directory; what is made there is removed in the end
#   --out DIR        where peers.json, peers.md, peers.dat and peers.png go (default: peers-results)
#   --pfnm FILE      the program (default: build/release/bin/pfnm, with libexec/pfnm/pfnm-main beside its bin/)
#   --tools LIST     of pfnm,pnpm,bun-isolated,bun-hoisted,yarn,npm (default: all; pfnm is always there)
#   --wait SECONDS   after preparing, wait at most this long for a 1-minute load below 3 (default 0)
#   --chart          draw peers.png, installing gnuplot-nox with apt-get if there is no gnuplot
# Needs node 20 or later, npm, git and a network. Exits with 0 if every bar is met, 1 if one is missed or something
# failed, 2 for wrong arguments.
set -euo pipefail

usage() {
  sed -n '2,19s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 2
}
fail() {
  echo "run.sh: $1" >&2
  exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=${CORPUS:+$CORPUS/_synthetic/exp-repo}
pfnm=$here/../../build/release/bin/pfnm
kind=loop size=16G directory='' out=peers-results chart=no harness=()
while [ $# -gt 0 ]; do
  if [ "$1" = --chart ]; then
    chart=yes
    shift
    continue
  fi
  [ $# -ge 2 ] || usage
  case $1 in
    --project) project=$2 ;;
    --rounds | --slow-rounds | --tools | --wait) harness+=("$1" "$2") ;;
    --dir) kind=dir directory=$2 ;;
    --loop) kind=loop size=$2 ;;
    --out) out=$2 ;;
    --pfnm) pfnm=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[ -n "$project" ] || fail '--project must be given, or CORPUS be set'
[ -f "$project/package-lock.json" ] || fail "no package-lock.json in $project"
[ -x "$pfnm" ] || fail "no program at $pfnm; --pfnm names another"
for program in node npm git; do
  command -v "$program" >/dev/null || fail "$program is not installed"
done

scratch='' mounted='' device='' group=''

# What a tool may have left running: its program lies in our scratch directory.
end_left_behind() {
  local link program
  for link in /proc/[0-9]*/exe; do
    program=$(readlink "$link" 2>/dev/null) || continue
    if [[ $program == "$scratch"/* ]]; then
      link=${link#/proc/}
      kill -KILL "${link%/exe}" 2>/dev/null || true
    fi
  done
}

clean_up() {
  status=$?
  set +e
  trap - EXIT
  trap '' INT TERM HUP
  if [ -n "$group" ]; then
    kill -TERM -- "-$group" 2>/dev/null && sleep 0.2
    kill -KILL -- "-$group" 2>/dev/null
    wait "$group" 2>/dev/null
  fi
  if [ -n "$scratch" ]; then end_left_behind; fi
  if [ -n "$mounted" ]; then umount "$mounted" 2>/dev/null || { sleep 1; umount "$mounted"; } || umount -l "$mounted"; fi
  if [ -n "$device" ]; then losetup -d "$device"; fi
  if [ -n "$scratch" ]; then
    chmod -R u+w "$scratch" 2>/dev/null # pfnm's store is sealed
    rm -rf --one-file-system "$scratch"
  fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

if [ $kind = dir ]; then
  mkdir -p "$directory"
  scratch=$(mktemp -d "$(cd "$directory" && pwd)/pfnm-peers.XXXXXX")
  work=$scratch/work
  mkdir "$work"
else
  scratch=$(mktemp -d "${TMPDIR:-/tmp}/pfnm-peers.XXXXXX")
  truncate -s "$size" "$scratch/disk"
  # Initialised at once, or the kernel would do it in the background while we measure.
  mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0 "$scratch/disk"
  device=$(losetup --find --show "$scratch/disk")
  mkdir "$scratch/mount"
  mount "$device" "$scratch/mount"
  mounted=$scratch/mount
  work=$mounted/work
  mkdir "$work"
fi

mkdir -p "$out"
gnuplot=''
if [ $chart = yes ] && ! command -v gnuplot >/dev/null; then
  apt-get install -y -q gnuplot-nox >/dev/null || echo 'run.sh: gnuplot-nox could not be installed' >&2
fi
if command -v gnuplot >/dev/null; then gnuplot=yes; fi

# In the background, because a trap waits for a program in the foreground to end; in a process group of its own.
status=0
set -m
node "$here/peers.mjs" --project "$project" --pfnm "$pfnm" --work "$work" --kind "$kind" --out "$out" \
  "${harness[@]}" &
group=$!
set +m
wait "$group" || status=$?
if [ -n "$gnuplot" ] && [ -f "$out/peers.dat" ]; then
  gnuplot -e "data='$out/peers.dat'; image='$out/peers.png'" "$here/chart.gp"
fi
[ "$status" -eq 0 ] || exit "$status"
