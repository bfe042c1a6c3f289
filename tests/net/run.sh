#!/usr/bin/env bash
# The end-to-end tests that need the npm registry: real projects, real tools, destructive commands.
#
#   tests/net/run.sh [CASE...]      (no case = all; --list names them)
#
#   PFNM    the binary under test       (default: the release build of this checkout)
#   CORPUS  real projects, read-only    (default: ../shared/corpus beside this checkout; next and vite need none)
#   WORK    scratch directory           (default: a new one under TMPDIR; a given one is emptied of what this run made)
#   NPMS    where npm's versions are    (default: in WORK)
#   KEEP=1  leaves the scratch directory for a look
#
# One line per check: ok NAME | FAILED NAME: why | skipped NAME: reason. Exit 1 if anything failed.
set -u -o pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
ALL_CASES=(helloworld bom exp-repo tools private npm-classes destructive destructive-small destructive-root next vite nodejs.org hydrogen boxyhq)

if [ "${1:-}" = --list ]; then
  printf '%s\n' "${ALL_CASES[@]}"
  exit 0
fi

PFNM=$(realpath "${PFNM:-$ROOT/build/release/bin/pfnm}")
CORPUS=${CORPUS:-${PFNM_CORPUS:-$ROOT/../shared/corpus}}
base=${WORK:-${TMPDIR:-/tmp}}
mkdir -p "$base"
WORK=$(realpath "$(mktemp -d "$base/pfnm-net.XXXXXX")")
LOGS=$WORK/logs
NPMS=${NPMS:-$WORK/npms}

# End only what this run left behind: the directory is ours alone. An install is read-only for its owner.
clean_up() {
  cd /
  # shellcheck disable=SC2046 # several
  kill $(jobs -p) 2>/dev/null
  [ -z "${group:-}" ] || end_group
  if [ "${KEEP:-0}" = 1 ]; then
    echo "scratch directory kept: $WORK" >&2
    return
  fi
  chmod -R u+rwX "$WORK" 2>/dev/null
  rm -rf "$WORK"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

if [ ! -x "$PFNM" ]; then
  echo "FAILED setup: no program at $PFNM (PFNM=...)"
  exit 1
fi
[[ ${*:-corpus} =~ ^(next|vite|\ )+$ ]] || [ -d "$CORPUS" ] || {
  echo "skipped all: no corpus at $CORPUS (CORPUS=...)"
  exit 0
}
CORPUS=$(realpath -m "$CORPUS")

# The program is copied, so that a build going on beside this run does not change it.
mkdir -p "$LOGS" "$WORK/program" "$WORK/home" "$WORK/tmp"
cp -r "$(dirname "$PFNM")" "$(dirname "$PFNM")/../libexec" "$WORK/program/"
PFNM=$WORK/program/bin/$(basename "$PFNM")

# A home of its own, with the person's way to the registry; npm's cache stays shared unless npm_config_cache says else.
[ -e "$HOME/.npmrc" ] && cp "$HOME/.npmrc" "$WORK/home/.npmrc"
export npm_config_cache=${npm_config_cache:-$HOME/.npm}
export HOME=$WORK/home
export PFNM_STORE=$WORK/store
export TMPDIR=$WORK/tmp
unset XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME NODE_ENV NODE_OPTIONS PF_NM_MODE
while read -r variable; do unset "$variable"; done < <(git rev-parse --local-env-vars)
git config --global user.name test
git config --global user.email test@example.invalid
git config --global init.defaultBranch main
git config --global advice.detachedHead false

# shellcheck source=lib.sh
. "$HERE/lib.sh"
# shellcheck source=cases/projects.sh
. "$HERE/cases/projects.sh"
# shellcheck source=cases/tools.sh
. "$HERE/cases/tools.sh"
# shellcheck source=cases/private.sh
. "$HERE/cases/private.sh"
# shellcheck source=cases/npm_classes.sh
. "$HERE/cases/npm_classes.sh"
# shellcheck source=cases/destructive.sh
. "$HERE/cases/destructive.sh"
# shellcheck source=cases/frameworks.sh
. "$HERE/cases/frameworks.sh"

for tool in node npm git; do
  command -v "$tool" >/dev/null || {
    echo "skipped all: no $tool"
    exit 0
  }
done
if ! npm view "npm@$NPM_11" version >"$LOGS/registry.log" 2>&1; then
  echo "skipped all: the npm registry does not answer"
  exit 0
fi
recent_node || {
  echo "FAILED setup: node $NODE"
  exit 1
}
for version in "$NPM_10" "$NPM_11" "$NPM_12"; do
  npm_path "$version" >/dev/null || {
    echo "FAILED setup: npm $version"
    exit 1
  }
done
PATH=$(npm_path "$NPM_11"):$PATH
export PATH

# A function, so that an edit of this file during a run does no harm.
run_cases() {
  local name function started
  for name in "$@"; do
    function=case_${name//[.-]/_}
    if ! declare -F "$function" >/dev/null; then
      failed "$name" "no such case (--list names them)"
      continue
    fi
    started=$SECONDS
    cd "$WORK" && "$function"
    echo "# $name took $((SECONDS - started)) s"
  done
  echo "$passed ok, $failed failed, $skipped skipped in $SECONDS s"
  [ "$failed" -eq 0 ]
}

[ $# -gt 0 ] || set -- "${ALL_CASES[@]}"
run_cases "$@"
