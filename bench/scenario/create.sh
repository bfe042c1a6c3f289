#!/usr/bin/env bash
# Runs bench_create on a file system of its own and takes it away again, also when it fails or is interrupted.
#
# usage: create.sh --build BUILD_DIRECTORY [--loop [SIZE] | --tmpfs [SIZE] | --dir DIRECTORY] [-- BENCH_CREATE_ARGUMENTS]
#   --loop SIZE   a new ext4 with a journal in a file (default, 8G; needs root); the file is sparse
#   --tmpfs SIZE  a new tmpfs (default 4G; needs root)
#   --dir DIR     an existing directory; nothing is mounted, and what was made there stays
#   --run PROGRAM runs this instead of bench_create, with --build and --dir, e.g. bench/scenario/worktree_add.py
set -euo pipefail

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 2
}

build='' kind=loop size='' directory='' program='' arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=${2-}; shift 2 || usage ;;
    --run) program=$(realpath "${2-}"); shift 2 || usage ;;
    --dir) kind=dir; directory=${2-}; shift 2 || usage ;;
    --loop | --tmpfs)
      kind=${1#--}
      shift
      if [ $# -gt 0 ] && [[ $1 != -* ]]; then size=$1; shift; fi
      ;;
    --) shift; arguments=("$@"); break ;;
    *) usage ;;
  esac
done
[ -x "$build/bin/bench_create" ] || { echo "create.sh: --build must name a build with bench_create in its bin/" >&2; exit 2; }

scratch='' mounted='' device=''
clean_up() {
  status=$?
  trap - EXIT INT TERM HUP
  jobs -pr | xargs -r kill || true
  wait || true
  if [ -n "$mounted" ]; then umount "$mounted" || umount -l "$mounted" || true; fi
  if [ -n "$device" ]; then losetup -d "$device" || true; fi
  if [ -n "$scratch" ]; then rm -rf --one-file-system "$scratch"; fi
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

case $kind in
  dir)
    [ -n "$directory" ] || usage
    ;;
  loop)
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/pfnm-bench.XXXXXX")
    truncate -s "${size:-8G}" "$scratch/disk"
    mkfs.ext4 -q -F "$scratch/disk"
    device=$(losetup --find --show "$scratch/disk")
    mkdir "$scratch/mount"
    mount "$device" "$scratch/mount"
    mounted=$scratch/mount
    directory=$mounted/bench
    ;;
  tmpfs)
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/pfnm-bench.XXXXXX")
    mkdir "$scratch/mount"
    mount -t tmpfs -o "size=${size:-4G}" pfnm-bench "$scratch/mount"
    mounted=$scratch/mount
    directory=$mounted/bench
    ;;
esac

# In the background, because a trap waits for a program in the foreground to end.
if [ -n "$program" ]; then
  "$program" --build "$build" --dir "$directory" "${arguments[@]}" &
else
  "$build/bin/bench_create" --dir "$directory" "${arguments[@]}" &
fi
wait $!
