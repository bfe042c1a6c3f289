#!/usr/bin/env bash
# Installs what is needed, builds pfnm and does its main job: gives a new git worktree its node_modules in milliseconds.
#
#   bash quickstart.sh              on a small project that this script makes
#   bash quickstart.sh REPOSITORY   on a new worktree of a repository of yours
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=.ci/packages
. "$here/.ci/packages"
"$here/.ci/install-packages" "${build_packages[@]}" "${run_packages[@]}"

(cd "$here" && cmake --preset release -DPFNM_BUILD_TESTS=OFF >/dev/null && cmake --build --preset release)
pfnm=$here/build/release/bin/pfnm

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
run() {
  printf '$ %s\n' "${*/#$pfnm/pfnm}"
  local start end
  start=$(date +%s%N)
  "$@"
  end=$(date +%s%N)
  printf '  (%d ms)\n' $(((end - start) / 1000000))
}

make_project() {
  local dir=$1
  mkdir -p "$dir"
  git -C "$dir" init -q
  cat >"$dir/package.json" <<'JSON'
{
  "name": "quickstart",
  "version": "1.0.0",
  "private": true,
  "workspaces": ["packages/*"],
  "scripts": {"start": "node index.js"},
  "dependencies": {"lodash": "^4.17.21", "semver": "^7.6.0"},
  "devDependencies": {"typescript": "^5.6.0", "prettier": "^3.3.0"}
}
JSON
  mkdir -p "$dir/packages/greet"
  cat >"$dir/packages/greet/package.json" <<'JSON'
{"name": "greet", "version": "1.0.0", "main": "index.js", "dependencies": {"semver": "^6.3.1"}}
JSON
  echo "module.exports = (who) => 'hello ' + who + ' (semver ' + require('semver/package.json').version + ')'" \
    >"$dir/packages/greet/index.js"
  echo "console.log(require('greet')(require('lodash').capitalize('world')))" >"$dir/index.js"
  printf 'node_modules/\n' >"$dir/.gitignore"
  (cd "$dir" && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel=error) ||
    (cd "$dir" && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel=error --offline) || {
    echo "npm can reach neither a registry nor what it needs in its cache." >&2
    return 1
  }
  git -C "$dir" add -A
  git -C "$dir" -c user.name=quickstart -c user.email=quickstart@localhost commit -qm "A small project"
}

new_worktree() { # REPOSITORY: adds a worktree beside it, prints its path
  local repository=$1 top name path n=1
  top=$(git -C "$repository" rev-parse --show-toplevel)
  name=$(basename "$top")
  while path=$(dirname "$top")/$name-pfnm-$n && [ -e "$path" ]; do n=$((n + 1)); done
  git -C "$repository" worktree add -q --detach "$path" >&2
  printf '%s\n' "$path"
}

if [ $# -ge 1 ]; then
  worktree=$(new_worktree "$1")
  say "A new worktree of $1"
  run "$pfnm" link "$worktree"
  run "$pfnm" status "$worktree"
  second=$(new_worktree "$1")
  say "And another: the install is there already"
  run "$pfnm" link "$second"
  say "They are yours to keep; to remove one:  git -C $1 worktree remove --force $worktree"
  exit 0
fi

scratch=$(mktemp -d)
cleanup() {
  chmod -R u+w "$scratch" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT
export PFNM_STORE=${PFNM_STORE:-$scratch/store}

say "A small project with a workspace, its packages from the registry"
make_project "$scratch/project"
first=$(new_worktree "$scratch/project")
second=$(new_worktree "$scratch/project")
say "The first worktree builds the install (npm ci, once per lock)"
run "$pfnm" link "$first"
say "Every other one is linked to it"
run "$pfnm" link "$second"
say "Nothing to do is noticed"
run "$pfnm" link "$second"
(cd "$second" && run npm run --silent start)
run "$pfnm" status "$second"
run git -C "$second" status --short
run "$pfnm" install ls
say "The program is $pfnm"
