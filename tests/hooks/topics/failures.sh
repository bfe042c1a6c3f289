# shellcheck shell=bash
# Whatever fails: git ends as without pfnm, one line says what to do, nothing half is left, and a later link heals.

failing=$WORK/repos/failing
export PFNM_STORE=$WORK/store-failing

# The programs that git, the hook's shim and these checks need, without node and npm.
bare_path() { # DIRECTORY PROGRAM...
  local directory=$1 program
  shift
  mkdir -p "$directory"
  for program in git sh env cat sed grep basename dirname uname "$@"; do
    ln -sf "$(command -v "$program")" "$directory/$program"
  done
}

# One line, and git's own answer unharmed.
assert_one_line() { # REGEX
  local lines
  lines=$(our_lines "$ERR")
  assert_equal "exit status of git" 0 "$CODE"
  assert_equal "stdout of git" "" "$OUT"
  assert_equal "lines of pfnm ($lines)" 1 "$(count_lines "$lines")"
  assert_match "the line" "$1" "$lines"
}

prepare_failing() {
  new_project "$failing" ordinary@1.0.0
  must pfnm link "$failing"
  branch "$failing" second ordinary@2.0.0
  must git -C "$failing" worktree add -q "$failing-second" second
  assert_provisioned "$failing-second" ordinary 2.0.0
}

without_programs() { # NAME PROGRAM...
  local name=$1
  shift
  bare_path "$WORK/path-$name" "$@"
  run env PATH="$WORK/path-$name" git -C "$failing" worktree add -q --detach "$failing-$name" main
  assert_one_line 'node|npm'
  assert_absent "$failing-$name/node_modules" "no $name"
  assert_no_half_layout "$failing-$name"
  # Where the marker names a toolchain, the hook's own PATH does not matter.
  must git -C "$failing" worktree add -q --detach "$failing-$name-marked" main
  run env PATH="$WORK/path-$name" git -C "$failing-$name-marked" switch -q --detach second
  assert_one_line 'linked'
  assert_provisioned "$failing-$name-marked" ordinary 2.0.0
  assert_link_heals "$failing-$name"
}

other_node() {
  mkdir -p "$WORK/other-node"
  printf '%s\n' '#!/bin/sh' "touch '$(canary other-node)'" "exec '$(command -v node)' \"\$@\"" >"$WORK/other-node/node"
  chmod 0755 "$WORK/other-node/node"
  clear_canaries
  must git -C "$failing" worktree add -q --detach "$failing-other-marked" main
  run env PATH="$WORK/other-node:$PATH" git -C "$failing-other-marked" switch -q --detach second
  assert_one_line 'linked'
  assert_provisioned "$failing-other-marked" ordinary 2.0.0
  assert_nothing_ran
  run env PATH="$WORK/other-node:$PATH" git -C "$failing" worktree add -q --detach "$failing-other" main
  assert_one_line 'linked|node|npm'
  assert_no_half_layout "$failing-other"
  assert_link_heals "$failing-other"
}

broken_node() {
  mkdir -p "$WORK/broken-node"
  printf '%s\n' '#!/bin/sh' 'exit 3' >"$WORK/broken-node/node"
  chmod 0755 "$WORK/broken-node/node"
  run env PATH="$WORK/broken-node:$PATH" git -C "$failing" worktree add -q --detach "$failing-broken-node" main
  assert_one_line '.'
  assert_absent "$failing-broken-node/node_modules" "a node that does not run"
  assert_link_heals "$failing-broken-node"
}

store_not_writable() {
  chmod 0500 "$PFNM_STORE" "$PFNM_STORE/.pf" "$PFNM_STORE/.pf"/*/
  branch "$failing" third ordinary@3.0.0
  run git -C "$failing" worktree add -q "$failing-third" third
  chmod 0700 "$PFNM_STORE" "$PFNM_STORE/.pf" "$PFNM_STORE/.pf"/*/
  assert_one_line 'pfnm link'
  assert_no_half_layout "$failing-third"
  assert_link_heals "$failing-third"
}

no_place_for_a_store() {
  mkdir -p "$WORK/closed"
  chmod 0500 "$WORK/closed"
  run env PFNM_STORE="$WORK/closed/store" git -C "$failing" worktree add -q --detach "$failing-closed" main
  assert_one_line 'store'
  assert_absent "$failing-closed/node_modules" "no store"
  assert_link_heals "$failing-closed"
}

store_of_another_kind() {
  echo text >"$WORK/store-file"
  run env PFNM_STORE="$WORK/store-file" git -C "$failing" worktree add -q --detach "$failing-store-file" main
  assert_one_line 'store'
  assert_link_heals "$failing-store-file"
}

tarball_is_gone() {
  publish late 1.0.0
  branch "$failing" late ordinary@1.0.0 late@1.0.0
  must mv "$PFNM_TEST_PACKAGES/late/1.0.0.tgz" "$WORK/late.tgz"
  run git -C "$failing" worktree add -q "$failing-late" late
  assert_one_line 'pfnm link'
  assert_absent "$failing-late/node_modules" "a build that failed"
  assert_no_half_layout "$failing-late"
  must mv "$WORK/late.tgz" "$PFNM_TEST_PACKAGES/late/1.0.0.tgz"
  assert_link_heals "$failing-late"
}

tarball_is_another() {
  publish swapped 1.0.0
  branch "$failing" swapped ordinary@1.0.0 swapped@1.0.0
  must cp "$PFNM_TEST_PACKAGES/swapped/1.0.0.tgz" "$WORK/swapped.tgz"
  must cp "$PFNM_TEST_PACKAGES/another/1.0.0.tgz" "$PFNM_TEST_PACKAGES/swapped/1.0.0.tgz"
  run git -C "$failing" worktree add -q "$failing-swapped" swapped
  assert_one_line 'pfnm link'
  assert_no_half_layout "$failing-swapped"
  must cp "$WORK/swapped.tgz" "$PFNM_TEST_PACKAGES/swapped/1.0.0.tgz"
  assert_link_heals "$failing-swapped"
}

# The shims forgive a hook that fails; a line that a person wrote may not.
hook_ends_with_0() {
  local empty=$WORK/repos/hook-empty plain=$WORK/repos/hook-plain conflict=$WORK/repos/hook-conflict event
  mkdir -p "$plain"
  new_repository "$empty"
  new_repository "$conflict"
  echo '<<<<<<< HEAD' >"$conflict/package-lock.json"
  for event in "post-checkout 0 0 1" post-checkout "post-merge 0" "post-rewrite rebase" "post-rewrite --odd -x"; do
    for directory in "$plain" "$empty" "$conflict" "$failing-second"; do
      # shellcheck disable=SC2086
      run in_dir "$directory" pfnm hook $event
      assert_equal "exit code of pfnm hook $event in ${directory##*/}" 0 "$CODE"
      assert_equal "stdout of pfnm hook $event" "" "$OUT"
      [ "$(count_lines "$ERR")" -le 1 ] || fail "pfnm hook $event says: $ERR"
    done
  done
  run in_dir "$failing-second" env PFNM_STORE="$WORK/store-file/below" pfnm hook post-checkout 0 0 1
  assert_equal "exit code without a store" 0 "$CODE"
  run in_dir "$empty" env -u HOME -u PFNM_STORE pfnm hook post-checkout 0 0 1
  assert_equal "exit code without HOME" 0 "$CODE"
}

# --- slow builds ----------------------------------------------------------------------------------------------------------

prepare_slow() {
  touch "$WORK/go"
  branch "$failing" slow ordinary@1.0.0 slow@1.0.0
  must git -C "$failing" worktree add -q "$failing-slow" slow
  must pfnm link "$failing-slow"
  rm "$WORK/go"
}

is_provisioned() { [ -e "$1/node_modules/.worktree-provisioned" ]; }

slower_than_the_limit() {
  rm -f "$WORK/go" "$(canary slow-started)"
  branch "$failing" slow-2 ordinary@2.0.0 slow@1.0.0
  with_setting pfnm.hookTimeout 1 git -C "$failing" worktree add -q "$failing-slow-2" slow-2
  assert_one_line 'still being built'
  poll 60 test -e "$(canary slow-started)" || fail "the build did not go on"
  assert_absent "$failing-slow-2/node_modules" "a build that is not done"
  # A second checkout of the same, while it is being built.
  with_setting pfnm.hookTimeout 1 git -C "$failing" worktree add -q --detach "$failing-slow-2b" slow-2
  assert_one_line 'still being built'
  touch "$WORK/go"
  poll 60 is_provisioned "$failing-slow-2" || fail "not provisioned after the build"
  poll 60 is_provisioned "$failing-slow-2b" || fail "the second worktree is not provisioned after the build"
  assert_provisioned "$failing-slow-2" ordinary 2.0.0
  assert_provisioned "$failing-slow-2b" ordinary 2.0.0
  assert_link_heals "$failing-slow-2"
}

# `go` is made only after the pipe's reader has seen the end: a reader that waits for the build would hit the limit.
piped_caller() { # SECONDS
  rm -f "$WORK/go" "$(canary slow-started)"
  branch "$failing" "slow-pipe-$1" ordinary@4.0.0 slow@1.0.0 "$2"
  # shellcheck disable=SC2016
  with_setting pfnm.hookTimeout "$1" timeout 30 bash -c 'set -o pipefail; git -C "$1" worktree add "$2" "$3" 2>&1 | cat >"$WORK/piped"' - \
    "$failing" "$failing-pipe-$1" "slow-pipe-$1"
  assert_equal "exit status of the pipe" 0 "$CODE"
  assert_absent "$failing-pipe-$1/node_modules" "a build that is not done"
  touch "$WORK/go"
  poll 60 is_provisioned "$failing-pipe-$1" || fail "not provisioned after the build: $(cat "$WORK/piped")"
  assert_provisioned "$failing-pipe-$1" ordinary 4.0.0
}

# The worktree goes away while its install is being built.
removed_while_building() {
  rm -f "$WORK/go" "$(canary slow-started)"
  branch "$failing" slow-3 ordinary@3.0.0 slow@1.0.0
  with_setting pfnm.hookTimeout 0 git -C "$failing" worktree add -q "$failing-slow-3" slow-3
  poll 60 test -e "$(canary slow-started)" || fail "the build did not go on"
  must git -C "$failing" worktree remove "$failing-slow-3"
  touch "$WORK/go"
  poll 60 no_build_is_running || fail "the build does not end"
  assert_absent "$failing-slow-3" "a worktree that was removed"
}

no_build_is_running() {
  local install
  for install in "$PFNM_STORE"/*/; do [ -e "$PFNM_STORE/.pf/seals/$(basename "$install")" ] || return 1; done
}

builder_is_killed() {
  local pid
  rm -f "$WORK/go" "$(canary slow-started)"
  branch "$failing" slow-4 ordinary@5.0.0 slow@1.0.0
  with_setting pfnm.hookTimeout 0 git -C "$failing" worktree add -q "$failing-slow-4" slow-4
  poll 60 test -e "$(canary slow-started)" || fail "the build did not go on"
  for pid in $(our_processes); do
    case $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) in
      *" hook post-checkout "*) kill -KILL "$pid" ;;
    esac
  done
  touch "$WORK/go"
  assert_link_heals "$failing-slow-4"
  assert_provisioned "$failing-slow-4" ordinary 5.0.0
}

two_hooks_in_one_worktree() {
  local tree=$failing-two first second bad=0
  branch "$failing" two ordinary@6.0.0
  PF_NM_MODE=off must git -C "$failing" worktree add -q "$tree" two
  (cd "$tree" && exec pfnm hook post-checkout 0 0 1) >"$WORK/two-1" 2>&1 &
  first=$!
  (cd "$tree" && exec pfnm hook post-checkout 0 0 1) >"$WORK/two-2" 2>&1 &
  second=$!
  wait "$first" || bad=1
  wait "$second" || bad=1
  assert_equal "hooks that failed" 0 "$bad"
  for first in "$WORK/two-1" "$WORK/two-2"; do
    [ "$(wc -l <"$first")" -le 1 ] || fail "lines: $(cat "$first")"
  done
  assert_provisioned "$tree" ordinary 6.0.0
  assert_no_half_layout "$tree"
}

# A store that was wiped: every layout dangles until the next checkout or link.
store_is_wiped() {
  chmod -R u+rwX "$PFNM_STORE"
  rm -rf "$PFNM_STORE"
  run git -C "$failing-second" switch -q -c second-again
  assert_equal "exit status of git" 0 "$CODE"
  assert_link_heals "$failing-second"
  assert_provisioned "$failing-second" ordinary 2.0.0
}

# --- the fallback: a clone of the main checkout's node_modules --------------------------------------------------------------

# A main checkout with a node_modules of npm's, and a lock that no hook may build.
make_clonable() { # DIRECTORY
  local modules=$1/node_modules
  new_repository "$1"
  write_lock "$1" ordinary@1.0.0 scripted-b@1.0.0
  commit "$1" first
  branch "$1" other ordinary@2.0.0 scripted-b@1.0.0
  must in_dir "$1" pfnm init
  must in_dir "$1" npm ci --ignore-scripts --no-audit --no-fund
  mkdir -p "$modules/.bin"
  head -c 4194304 /dev/urandom >"$modules/ordinary/large"
  chmod 0755 "$modules/ordinary/large"
  ln -s ../ordinary/large "$modules/.bin/large"
  sync -f "$modules"
}

listing() { (cd "$1" && find . ! -name .worktree-provisioned ! -type d -printf '%p %y %m %l\n' | sort && find . -type f ! -name .worktree-provisioned -exec sha256sum {} + | sort); }

shared_blocks() { filefrag -v "$1" | grep -c shared; }

clone_fallback() { # KIND
  local repo=${VOLUMES:-/nonexistent}/$1/repo
  [ -n "${VOLUMES:-}" ] || skip "only root can mount a volume"
  [ -d "$VOLUMES/$1" ] || skip "no $1 volume could be made and mounted here"
  export PFNM_STORE=$VOLUMES/$1/store
  make_clonable "$repo"
  clear_canaries
  run git -C "$repo" worktree add -q --detach "$repo-clone" main
  assert_one_line 'clone of the main checkout'
  assert_nothing_ran
  assert_equal "the clone" "$(listing "$repo/node_modules")" "$(listing "$repo-clone/node_modules")"
  if command -v filefrag >/dev/null; then
    [ "$(shared_blocks "$repo-clone/node_modules/ordinary/large")" -gt 0 ] || fail "the clone does not share its blocks"
  fi
  assert_no_half_layout "$repo-clone"
  echo changed >"$repo-clone/node_modules/ordinary/large"
  assert_equal "the main checkout's file" 4194304 "$(stat -c %s "$repo/node_modules/ordinary/large")"
  run git -C "$repo-clone" switch -q -c again
  assert_equal "what the hook says of a private tree" "" "$(our_lines "$ERR")"
  # Another lock is no clone.
  run git -C "$repo" worktree add -q "$repo-other" other
  assert_one_line 'pfnm link'
  assert_absent "$repo-other/node_modules" "another lock than the main checkout's"
  run pfnm link --force "$repo-clone"
  assert_equal "exit code of pfnm link --force" 0 "$CODE"
  assert_provisioned "$repo-clone" ordinary 1.0.0
}

no_byte_copy() {
  local repo=$WORK/repos/uncloned
  make_clonable "$repo"
  cp --reflink=always "$repo/node_modules/ordinary/large" "$WORK/reflinked" 2>/dev/null && skip "the scratch directory's file system can share blocks"
  rm -f "$WORK/reflinked"
  clear_canaries
  run git -C "$repo" worktree add -q "$repo-w"
  assert_one_line 'pfnm link'
  assert_nothing_ran
  assert_absent "$repo-w/node_modules" "a file system that cannot share blocks"
  assert_no_half_layout "$repo-w"
  assert_link_heals "$repo-w"
}

prepare "the repository for the failures is linked, and its second branch built by the hook" prepare_failing
check "no node and no npm: one line; with a marker the hook links all the same" without_programs nothing
check "no npm: one line; with a marker the hook links all the same" without_programs npm node
check "no node: one line; with a marker the hook links all the same" without_programs node npm
check "another node on PATH: the marker's is used" other_node
check "a node that does not run: one line" broken_node
check "a store that is not writable: one line" store_not_writable
check "no place for a store: one line" no_place_for_a_store
check "a file where the store should be: one line" store_of_another_kind
check "a tarball that is gone: one line, and nothing half" tarball_is_gone
check "a tarball with other contents: one line, and nothing half" tarball_is_another
check "pfnm hook ends with 0 and at most a line, whatever it is given and wherever it is" hook_ends_with_0
prepare "pfnm link approves the slow package" prepare_slow
check "a build slower than the limit goes on by itself, for a second worktree too" slower_than_the_limit
check "a piped git does not wait for the build (pfnm.hookTimeout=0)" piped_caller 0 another@1.0.0
check "a piped git does not wait for the build (pfnm.hookTimeout=1)" piped_caller 1 helper@1.0.0
check "a worktree that is removed during the build stays away" removed_while_building
check "a builder that is killed: the next link builds" builder_is_killed
check "two hooks at once in one worktree: one build, one layout" two_hooks_in_one_worktree
check "a store that was wiped: git switch is unharmed, and link heals" store_is_wiped
check "xfs: a hook that may not build clones the main checkout's node_modules" clone_fallback xfs
check "btrfs: a hook that may not build clones the main checkout's node_modules" clone_fallback btrfs
check "no shared blocks: a hook that may not build copies nothing" no_byte_copy
export PFNM_STORE=$WORK/store
