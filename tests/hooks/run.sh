#!/usr/bin/env bash
# The git hooks from end to end: real git, real npm, a small registry on loopback.
#
#   tests/hooks/run.sh [CASE...]     a CASE is a topic (topics/NAME.sh) or a regular expression for names of checks;
#                                    the operations of one arrangement of hooks build on one another: ask for all of them
#
# PFNM    path of bin/pfnm (its libexec/ beside it); default: the pfnm on PATH
# WORK    scratch directory, removed at the end with everything in it; default: a new one
# VERBOSE set: a failed check's output is printed
#
# Prints `ok NAME`, `FAILED NAME: why` or `skipped NAME: reason`, then a count; ends with 1 where a check failed. As root
# it goes on as an unprivileged user, for whom mode bits mean something.
set -euo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Every process of this run has its scratch directory in the environment, however far from us it has gone.
stop_processes() {
  local pid round
  for round in TERM KILL; do
    for pid in $(our_processes); do kill "-$round" "$pid" 2>/dev/null || :; done
    for _ in $(seq 40); do
      [ -n "$(our_processes)" ] || return 0
      sleep 0.05
    done
  done
}

our_processes() {
  local directory pid
  for directory in /proc/[0-9]*; do
    pid=${directory#/proc/}
    [[ " $$ $BASHPID $PPID ${OUTER:-} " != *" $pid "* ]] || continue
    if { tr '\0' '\n' <"$directory/environ" | grep -qE "^(HOME|PFNM_TEST_WORK)=$WORK/"; } 2>/dev/null; then
      echo "$pid"
    fi
  done
}

# --- as root: what only root can make, then the same script as somebody else --------------------------------------------

mounted=()
make_volume() { # KIND MEGABYTES
  local image=$WORK/$1.img directory=$WORK/volumes/$1
  command -v "mkfs.$1" >/dev/null || return 0
  mkdir -p "$directory"
  truncate -s "$2M" "$image"
  if "mkfs.$1" -q "$image" >/dev/null 2>&1 && mount -o loop "$image" "$directory" 2>/dev/null; then
    mounted+=("$directory")
    chown "$user:$user" "$directory"
    chmod 0700 "$directory"
  else
    rmdir "$directory"
  fi
}

leave_as_root() {
  local directory
  stop_processes
  for directory in "${mounted[@]}"; do umount "$directory" 2>/dev/null || umount -l "$directory"; done
  rm -rf "$WORK"
}

become_somebody() {
  user=54321
  WORK=$(mktemp -d "${WORK:-${TMPDIR:-/tmp}}/pfnm-hooks.XXXXXX")
  export WORK
  trap leave_as_root EXIT
  trap 'exit 130' INT TERM
  local source
  source=$(cd "$(dirname "$(command -v "${PFNM:-pfnm}")")/.." && pwd)
  mkdir -p "$WORK/product/bin" "$WORK/product/libexec/pfnm" "$WORK/tests"
  cp "$source/bin/pfnm" "$WORK/product/bin/"
  cp "$source/libexec/pfnm/pfnm-main" "$WORK/product/libexec/pfnm/"
  cp -R "$HERE/." "$WORK/tests/"
  make_volume xfs 320
  make_volume btrfs 160
  chmod 0755 "$WORK"
  mkdir "$WORK/run"
  chown "$user:$user" "$WORK/run"
  local code=0
  local top=$WORK
  export PFNM=$top/product/bin/pfnm VOLUMES=$top/volumes OUTER=$$
  HOME=$top/run WORK=$top/run setpriv --reuid=$user --regid=$user --clear-groups bash "$top/tests/run.sh" "$@" &
  wait $! || code=$? # not in the foreground: a signal must not wait for its end
  exit "$code"
}

if [ "$(id -u)" = 0 ]; then
  command -v setpriv >/dev/null || { echo "run.sh: as root it needs setpriv" >&2; exit 1; }
  become_somebody "$@"
fi

# --- as an unprivileged user --------------------------------------------------------------------------------------------

PFNM=$(command -v "${PFNM:-pfnm}") || { echo "run.sh: set PFNM to bin/pfnm" >&2; exit 1; }
PFNM=$(cd "$(dirname "$PFNM")" && pwd)/pfnm
base=${WORK:-${TMPDIR:-/tmp}}
WORK=$(mktemp -d "$base/pfnm-hooks.XXXXXX")
leave() {
  stop_processes
  chmod -R u+rwX "$WORK" 2>/dev/null || :
  rm -rf "$WORK"
}
trap leave EXIT
trap 'exit 130' INT TERM

mkdir -p "$WORK/home" "$WORK/packages" "$WORK/repos" "$WORK/bin"
while read -r variable; do unset "$variable"; done < <(git rev-parse --local-env-vars)
unset HUSKY NODE_OPTIONS NODE_PATH PF_NM_MODE XDG_CONFIG_HOME XDG_CACHE_HOME
while read -r variable; do unset "$variable"; done < <(compgen -e | grep -i '^npm_' || :)
export HERE WORK PFNM PFNM_TEST_WORK=$WORK/ HOME=$WORK/home PFNM_STORE=$WORK/store TMPDIR=$WORK
export GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true LC_ALL=C
export GIT_AUTHOR_DATE='2030-01-01T00:00:00Z' GIT_COMMITTER_DATE='2030-01-01T00:00:00Z'
export PFNM_TEST_PACKAGES=$WORK/packages
ln -s "$PFNM" "$WORK/bin/pfnm"
export PATH=$WORK/bin:$PATH
cd "$WORK"
git config --global user.name tester
git config --global user.email tester@invalid
git config --global pfnm.writeBack off
git config --global init.defaultBranch main
git config --global advice.detachedHead false
git config --global protocol.file.allow always

node "$HERE/registry.mjs" "$WORK/packages" "$WORK/port" &
# shellcheck source=tests/hooks/support.sh
. "$HERE/support.sh"
poll 30 test -e "$WORK/port" || { echo "run.sh: the registry did not start" >&2; exit 1; }
PFNM_TEST_REGISTRY=http://127.0.0.1:$(cat "$WORK/port")
export PFNM_TEST_REGISTRY
# The toolchain's own configuration must not decide what these checks see.
printf '%s\n' "registry=$PFNM_TEST_REGISTRY/" fetch-retries=0 update-notifier=false audit=false fund=false >"$HOME/.npmrc"
publish_all

topics=()
ONLY=
for case in "$@"; do
  if [ -e "$HERE/topics/$case.sh" ]; then
    topics+=("$HERE/topics/$case.sh")
  else
    ONLY=${ONLY:+$ONLY|}$case
  fi
done
[ ${#topics[@]} -gt 0 ] || topics=("$HERE"/topics/*.sh)
: >"$WORK/results"
for topic in "${topics[@]}"; do
  # shellcheck disable=SC1090
  . "$topic"
done

count() { grep -cx "$1" "$WORK/results" || :; }
echo "$(count ok) ok, $(count failed) failed, $(count skipped) skipped"
[ "$(count failed)" = 0 ]
