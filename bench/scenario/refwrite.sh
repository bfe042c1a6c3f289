#!/usr/bin/env bash
# Ref writes while something else goes on: on a loop device with a file system of its own, throttled through the block
# cgroup (version 1, as root). The device is un-throttled and everything is taken away again, also when it fails.
#
# usage: refwrite.sh --build BUILD_DIRECTORY [--fs ext4|xfs|btrfs] [--iops N|none] [--entries N] [--out DIRECTORY]
#                    [--project DIRECTORY] METHOD...
#   METHOD     idle  rm  reclaim  cp  reflink; with --project also: link  worktree-add  build  private
#   --project  a git repository with a package-lock.json, whose packages npm has cached
# Each method gets at most ten minutes. Figures go to stdout, samples to DIRECTORY/<fs>-<iops>-<method>.json.
set -euo pipefail

usage() {
  sed -n '2,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 2
}

build='' fs=ext4 iops=none entries=72000 out='' project='' methods=()
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$(realpath "${2-}"); shift 2 ;;
    --fs) fs=${2-}; shift 2 ;;
    --iops) iops=${2-}; shift 2 ;;
    --entries) entries=${2-}; shift 2 ;;
    --out) out=$(realpath "${2-}"); shift 2 ;;
    --project) project=$(realpath "${2-}"); shift 2 ;;
    -*) usage ;;
    *) methods+=("$1"); shift ;;
  esac
done
[ -x "$build/bin/bench_refwrite" ] && [ ${#methods[@]} -gt 0 ] || usage
[ "$(id -u)" -eq 0 ] || { echo "refwrite.sh: loop devices and throttling need root" >&2; exit 2; }
throttle_file=/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device

scratch=$(mktemp -d "${TMPDIR:-/tmp}/pfnm-bench.XXXXXX")
device='' mounted=''
throttle() { # N, or 0 for none
  [ -n "$device" ] || return 0
  [ -e "$throttle_file" ] || return 0
  echo "$(lsblk -no MAJ:MIN "$device" | tr -d ' ') $1" >"$throttle_file"
}
clean_up() {
  status=$?
  trap - EXIT INT TERM HUP
  throttle 0 || true
  jobs -pr | xargs -r kill || true
  wait || true
  if [ -n "$mounted" ]; then umount "$mounted" || umount -l "$mounted" || true; fi
  if [ -n "$device" ]; then losetup -d "$device" || true; fi
  rm -rf --one-file-system "$scratch"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

new_file_system() {
  if [ -n "$mounted" ]; then umount "$mounted"; mounted=''; fi
  if [ -n "$device" ]; then losetup -d "$device"; device=''; fi
  rm -f "$scratch/disk"
  truncate -s 6G "$scratch/disk"
  case $fs in
    ext4) mkfs.ext4 -q -F -J size=64 "$scratch/disk" ;;
    xfs) mkfs.xfs -q -f "$scratch/disk" ;;
    btrfs) mkfs.btrfs -q -f "$scratch/disk" ;;
    *) usage ;;
  esac
  device=$(losetup --find --show --direct-io=on "$scratch/disk" 2>/dev/null || losetup --find --show "$scratch/disk")
  mkdir -p "$scratch/mount"
  mount "$device" "$scratch/mount"
  mounted=$scratch/mount
}

# measure LABEL COMMAND...
measure() {
  local label=$1 json=()
  shift
  [ -z "$out" ] || json=(--json "$out/$fs-$iops-$label.json")
  sync -f "$mounted"
  [ "$iops" = none ] || throttle "$iops"
  # In the background, because a trap waits for a program in the foreground to end.
  timeout 600 "$build/bin/bench_refwrite" --beside "$mounted" --label "$fs-$iops-$label" "${json[@]}" "$@" &
  wait $! || echo "$fs-$iops-$label ended with status $?"
  throttle 0
}

prepare_project() {
  [ -n "$project" ] || { echo "refwrite.sh: $1 needs --project" >&2; exit 2; }
  git clone -q "$project" "$mounted/repo"
  git -C "$mounted/repo" worktree add -q --detach "$mounted/one"
  git -C "$mounted/repo" worktree add -q --detach "$mounted/two"
  export PFNM_STORE=$mounted/store
}

run_method() {
  local pfnm=$build/bin/pfnm
  new_file_system
  case $1 in
    idle) measure idle --idle 10 ;;
    rm | reclaim | cp | reflink)
      "$build/bin/bench_remove" make "$mounted" tree "$entries" 2>/dev/null
      case $1 in
        rm) measure rm -- rm -rf "$mounted/tree" ;;
        reclaim) measure reclaim -- "$build/bin/bench_remove" remove "$mounted" tree ;;
        cp) measure cp -- cp -a "$mounted/tree" "$mounted/copy" ;;
        reflink) measure reflink -- cp -a --reflink=always "$mounted/tree" "$mounted/copy" ;;
      esac
      ;;
    link)
      prepare_project link
      "$pfnm" link "$mounted/one" >/dev/null
      measure link -- "$pfnm" link "$mounted/two"
      ;;
    worktree-add)
      prepare_project worktree-add
      "$pfnm" link "$mounted/one" >/dev/null
      measure worktree-add -- git -C "$mounted/repo" worktree add -q --detach "$mounted/three"
      ;;
    build)
      prepare_project build
      measure build -- "$pfnm" link "$mounted/one"
      ;;
    private)
      prepare_project private
      "$pfnm" link "$mounted/one" >/dev/null
      measure private -- "$pfnm" private "$mounted/one"
      ;;
    *) usage ;;
  esac
}

# Each by a process of its own: a loop device that was taken apart and put together again is no longer held back.
if [ ${#methods[@]} -eq 1 ]; then
  run_method "${methods[0]}"
else
  options=(--build "$build" --fs "$fs" --iops "$iops" --entries "$entries")
  [ -z "$out" ] || options+=(--out "$out")
  [ -z "$project" ] || options+=(--project "$project")
  for method in "${methods[@]}"; do bash "${BASH_SOURCE[0]}" "${options[@]}" "$method"; done
fi
