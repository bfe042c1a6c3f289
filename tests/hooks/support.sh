# shellcheck shell=bash
# What every topic uses: checks, assertions, projects, packages. Sourced by run.sh.

# --- checks ---------------------------------------------------------------------------------------------------------

# check NAME FUNCTION [ARGUMENT...]: runs the function in a subshell of its own and prints what became of it.
check() {
  local name=$1
  shift
  if [ -n "${ONLY:-}" ] && [[ ! "$name" =~ $ONLY ]]; then return 0; fi
  rm -f "$WORK/why"
  local code=0 began=$SECONDS
  (
    set +e
    trap - EXIT
    "$@"
    exit 0
  ) >"$WORK/check.log" 2>&1 </dev/null || code=$?
  [ -z "${VERBOSE:-}" ] || echo "    $((SECONDS - began)) s:"
  if [ "$code" = 0 ]; then
    echo "ok $name"
    echo ok >>"$WORK/results"
  elif [ "$code" = 77 ]; then
    echo "skipped $name: $(cat "$WORK/why")"
    echo skipped >>"$WORK/results"
  else
    echo "FAILED $name: $(cat "$WORK/why" 2>/dev/null || echo "ended with $code")"
    [ -z "${VERBOSE:-}" ] || sed 's/^/    /' "$WORK/check.log"
    echo failed >>"$WORK/results"
  fi
}

# A check that others build on: it runs whichever were asked for.
prepare() { ONLY='' check "$@"; }

fail() {
  printf '%s\n' "$*" | tr '\n' '|' | cut -c1-600 >"$WORK/why"
  exit 1
}

skip() {
  echo "$*" >"$WORK/why"
  exit 77
}

# A step of a check's set-up; what fails here is not what the check is about, but must not go unseen.
must() { "$@" || fail "set-up: $* ended with $?"; }

assert_equal() { # WHAT EXPECTED FOUND
  [ "$2" = "$3" ] || fail "$1: expected '$2', found '$3'"
}

assert_match() { # WHAT REGEX TEXT
  [[ "$3" =~ $2 ]] || fail "$1: expected /$2/, found '$3'"
}

assert_absent() { # PATH WHY
  if [ -e "$1" ] || [ -L "$1" ]; then fail "$2: $1 is there"; fi
}

# poll SECONDS COMMAND...: true as soon as the command is, false where it is not within the bound.
poll() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.05
  done
}

# --- running git and pfnm ---------------------------------------------------------------------------------------------

# run COMMAND...: leaves OUT, ERR (files' text) and CODE.
run() {
  CODE=0
  "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || CODE=$?
  # shellcheck disable=SC2034
  OUT=$(cat "$WORK/out")
  ERR=$(cat "$WORK/err")
  echo "+ $* -> $CODE" && cat "$WORK/out" "$WORK/err"
}

# with_setting KEY VALUE COMMAND...: run with a line in the user's git configuration (hooks do not see git's -c).
with_setting() {
  local key=$1
  must git config --global "$key" "$2"
  shift 2
  run "$@"
  must git config --global --unset "$key"
}

in_dir() { (cd "$1" && shift && "$@"); }

json_field() { node -p 'const v = JSON.parse(require("fs").readFileSync(0, "utf8"))[process.argv[1]]; typeof v === "object" ? JSON.stringify(v) : String(v)' "$1"; }

# The lines that pfnm wrote among what git wrote to stderr.
our_lines() { printf '%s\n' "$1" | grep -E '^(pfnm:|linked |relinked |built |private copy|left )' || :; }

count_lines() { if [ -z "$1" ]; then echo 0; else printf '%s\n' "$1" | wc -l | tr -d ' '; fi; }

# --- what a worktree has ----------------------------------------------------------------------------------------------

is_intact() { [ "$(pfnm status "$1" --json | json_field intact)" = true ]; }

version_in() { # DIRECTORY PACKAGE
  sed -n 's/.*"version": *"\([^"]*\)".*/\1/p' "$1/node_modules/$2/package.json" 2>/dev/null | head -n 1
}

# assert_provisioned DIRECTORY [PACKAGE VERSION]: links of pfnm that lead to what the lock says.
assert_provisioned() {
  [ -L "$1/node_modules/.pf-shared" ] || fail "$1 is not provisioned (${ERR:-no message})"
  is_intact "$1" || fail "$1 is not intact: $(pfnm status "$1" 2>&1)"
  if [ -n "${2:-}" ]; then assert_equal "$2 in $1" "$3" "$(version_in "$1" "$2")"; fi
}

# Nothing at all, or what was there before and still stands.
assert_no_half_layout() {
  local left
  left=$(find "$1" -maxdepth 1 -name '.pfnm*' ! -name .pfnmconfig 2>/dev/null)
  assert_equal "left over in $1" "" "$left"
  if [ -e "$1/node_modules" ] && [ ! -L "$1/node_modules/.pf-shared" ] && [ ! -e "$1/node_modules/.worktree-provisioned" ]; then
    fail "$1/node_modules carries no marker"
  fi
}

# assert_link_heals DIRECTORY: after the person's own link the worktree is as it should be.
assert_link_heals() {
  run pfnm link "$1"
  assert_equal "exit code of pfnm link" 0 "$CODE"
  is_intact "$1" || fail "not intact after pfnm link: $(pfnm status "$1" 2>&1)"
}

# --- packages ---------------------------------------------------------------------------------------------------------

# publish NAME VERSION [JSON-MEMBERS [FILE TEXT]...]: a package in the registry.
publish() {
  local name=$1 version=$2 members=${3:-} source=$WORK/source/$1-$2
  shift $(($# < 3 ? $# : 3))
  mkdir -p "$source/package" "$PFNM_TEST_PACKAGES/$name"
  printf '{"name":"%s","version":"%s"%s}\n' "$name" "$version" "${members:+,$members}" >"$source/package/package.json"
  while [ $# -gt 1 ]; do
    mkdir -p "$(dirname "$source/package/$1")"
    printf '%s\n' "$2" >"$source/package/$1"
    shift 2
  done
  pack "$source" "$PFNM_TEST_PACKAGES/$name/$version.tgz"
  cp "$source/package/package.json" "$PFNM_TEST_PACKAGES/$name/$version.json"
}

pack() { # DIRECTORY-WITH-package/ TARBALL
  tar -C "$1" --sort=name --mtime=@1000000000 --owner=0 --group=0 --numeric-owner -cf - package | gzip -n >"$2"
}

# Where the script of NAME leaves its trace.
canary() { echo "$WORK/canary/$1"; }
assert_nothing_ran() {
  local found
  found=$(ls "$WORK/canary")
  assert_equal "scripts that ran" "" "$found"
}
clear_canaries() { rm -f "$WORK/canary/"*; }

publish_all() {
  mkdir -p "$WORK/canary"
  local version script
  for version in 1.0.0 2.0.0 3.0.0 4.0.0 5.0.0 6.0.0; do publish ordinary $version '"main":"index.js"' index.js "module.exports = '$version';"; done
  publish another 1.0.0
  for script in scripted-a scripted-b scripted-c quiet-script; do
    publish $script 1.0.0 "\"scripts\":{\"install\":\"touch '$(canary $script)'\"}"
  done
  publish with-gyp 1.0.0 '' binding.gyp "{'targets':[{'target_name':'x','sources':['<!(touch $(canary with-gyp))']}]}"
  publish carrier 1.0.0 '' node_modules/evil/package.json \
    "{\"name\":\"evil\",\"version\":\"1.0.0\",\"scripts\":{\"install\":\"touch '$(canary carried-evil)'\"}}"
  publish patch-package 1.0.0 '"bin":{"patch-package":"index.js"},"dependencies":{"helper":"*"}' \
    index.js "#!/usr/bin/env node
require('helper'); require('fs').writeFileSync('$(canary patch-package)', '');"
  publish helper 1.0.0 '"main":"index.js"' index.js ''
  publish helper 2.0.0 '"main":"index.js"' index.js "require('fs').writeFileSync('$(canary helper)', '');"
  publish patch-package 1.0.1 '"bin":{"patch-package":"index.js"}' \
    index.js "#!/usr/bin/env node
require('fs').writeFileSync('$(canary other-patch-package)', '');"
  publish bin-thief 1.0.0 '"bin":{"patch-package":"index.js","node":"index.js","touch":"index.js"}' \
    index.js "#!$(command -v node)
require('fs').writeFileSync('$(canary bin-thief)', '');"
  # Waits for the file `go` (at most two minutes), so that a build lasts as long as a check wants.
  publish slow 1.0.0 "\"scripts\":{\"install\":\"sh wait.sh\"}" wait.sh \
    "touch '$(canary slow-started)'; n=0; while [ ! -e '$WORK/go' ] && [ \$n -lt 1200 ]; do sleep 0.1; n=\$((n + 1)); done"
  publish git-init 1.0.0 "\"scripts\":{\"install\":\"env >'$WORK/elsewhere.env'; git init -q '$WORK/elsewhere' && git -C '$WORK/elsewhere' config core.bare true && touch '$(canary git-init)'\"}"
}

# --- projects ---------------------------------------------------------------------------------------------------------

write_lock() { must node "$HERE/lock.mjs" "$@"; } # DIRECTORY OPTION...

# commit DIRECTORY TEXT: everything that is there.
commit() { must git -C "$1" add -A && must git -C "$1" commit -q --no-verify -m "$2"; }

new_repository() { # DIRECTORY
  mkdir -p "$1/sub"
  git init -q -b main "$1"
  echo node_modules >"$1/.gitignore"
  echo text >"$1/src.txt"
  echo text >"$1/sub/keep"
}

# new_project DIRECTORY OPTION...: a repository with one commit, and pfnm's hook in it.
new_project() {
  new_repository "$1"
  write_lock "$@"
  commit "$1" first
  must in_dir "$1" pfnm init
}

# branch DIRECTORY NAME OPTION...: a branch from main with another lock; the checkout stays where it is.
branch() {
  local directory=$1 name=$2 made=$WORK/making
  shift 2
  PF_NM_MODE=off must git -C "$directory" worktree add -q -b "$name" "$made" main
  [ $# = 0 ] || write_lock "$made" "$@"
  [ -z "${CHANGE:-}" ] || (cd "$made" && eval "$CHANGE")
  commit "$made" "$name"
  must git -C "$directory" worktree remove --force "$made"
}
