# shellcheck shell=bash
# Every git operation that can change the lock, under every arrangement of hooks that people have. Each one is done
# twice: in a repository with pfnm and in its twin without. git must answer the same; the first is provisioned.

# shellcheck source=tests/hooks/arrangements.sh
. "$HERE/arrangements.sh"

# With a directory of hooks that is the project's own, pfnm names it and says the line; a person adds it.
add_named_lines() { # DIRECTORY
  local before line event
  before=$(cd "$1" && find .githooks -type f -exec sha256sum {} +)
  run pfnm init "$1"
  assert_equal "exit code of init where it may not write" 6 "$CODE"
  assert_match "what init says" 'core\.hooksPath is \.githooks' "$ERR"
  assert_equal "the project's hooks after init" "$before" "$(cd "$1" && find .githooks -type f -exec sha256sum {} +)"
  line=$(printf '%s\n' "$ERR" | sed -n 's/^  \(.*pfnm hook post-checkout.*\)/\1/p')
  [ -n "$line" ] || fail "init does not say the line to add: $ERR"
  for event in post-checkout post-merge post-rewrite; do
    [ -e "$1/.githooks/$event" ] || echo '#!/bin/sh' >"$1/.githooks/$event"
    printf '%s\n' "${line/post-checkout/$event}" >>"$1/.githooks/$event"
    chmod 0755 "$1/.githooks/$event"
  done
}

# --- the two repositories -----------------------------------------------------------------------------------------------

make_history() { # DIRECTORY
  local n
  commit "$1" first
  must git -C "$1" switch -q -c other
  cp "$WORK/lock2/"* "$1/"
  commit "$1" "another lock"
  must git -C "$1" switch -q -c line main
  for n in 1 2 3 4; do
    [ "$n" != 3 ] || cp "$WORK/lock2/"* "$1/"
    echo "$n" >"$1/n.txt"
    commit "$1" "n $n"
  done
  must git -C "$1" switch -q main
}

make_twins() { # KIND
  local kind=$1 with=$WORK/repos/$1/with/repo without=$WORK/repos/$1/without/repo side
  for side in "$with" "$without"; do
    new_repository "$side"
    cp "$WORK/lock1/"* "$side/"
    arrange "$kind" "$side"
  done
  case $kind in
    tracked) add_named_lines "$with" ;;
    *) must pfnm init "$with" ;;
  esac
  PF_NM_MODE=off make_history "$with"
  make_history "$without"
  must git clone -q --bare "$with" "$with.git"
  must git clone -q --bare "$without" "$without.git"
  must git -C "$with" remote add origin "$with.git"
  must git -C "$without" remote add origin "$without.git"
  must git -C "$with" fetch -q
  must git -C "$without" fetch -q
  must pfnm link "$with"
}

# both KIND WHERE COMMAND...: in both repositories, from the directory WHERE below `repo`'s parent. The command's
# answer must be the same. ERR is what the one with pfnm wrote to stderr.
both() {
  local kind=$1 where=$2 side code_with code_without
  shift 2
  for side in without with; do
    CODE=0
    (cd "$WORK/repos/$kind/$side/$where" && BASE=$WORK/repos/$kind/$side && export BASE && "$@") \
      >"$WORK/out.$side" 2>"$WORK/err.$side" </dev/null || CODE=$?
    sed -i -E "s#$WORK/repos/$kind/$side#BASE#g; s/\b[0-9a-f]{7,40}\b/HASH/g" "$WORK/out.$side"
    echo "+ ($side) $* -> $CODE" && cat "$WORK/out.$side" "$WORK/err.$side"
    [ "$side" = with ] && code_with=$CODE || code_without=$CODE
  done
  ERR=$(cat "$WORK/err.with")
  assert_equal "exit status of git ($*)" "$code_without" "$code_with"
  assert_equal "stdout of git ($*)" "$(cat "$WORK/out.without")" "$(cat "$WORK/out.with")"
  if [ "$kind" = own-hook ] || [ "$kind" = git-lfs ]; then
    assert_equal "output of the hooks that were there ($*)" \
      "$(grep -cE '^(own hook|lfs)' "$WORK/err.without")" "$(grep -cE '^(own hook|lfs)' "$WORK/err.with")"
  fi
}

in_base() { # for commands that need the path of their own side
  local command=$1
  eval "$command"
}

at() { echo "$WORK/repos/$1/with/$2"; } # KIND NAME

one_line_at_most() {
  local lines
  lines=$(our_lines "$ERR")
  [ "$(count_lines "$lines")" -le 1 ] || fail "more than one line: $lines"
}

# expect KIND DIRECTORY VERSION: provisioned, with at most a line.
expect() {
  one_line_at_most
  assert_provisioned "$(at "$1" "$2")" ordinary "$3"
  case $1 in
    husky*) [ -e "$(at "$1" "$2")/.husky/_/.gitignore" ] || fail "$2 has no .husky/_" ;;
  esac
  assert_equal "git status of $2" "" "$(git -C "$(at "$1" "$2")" status --porcelain)"
}

# --- the operations, in this order ----------------------------------------------------------------------------------------

add_from_main() { both "$1" repo git worktree add ../w1 -b w1 && expect "$1" w1 1.0.0; }
add_from_linked() { both "$1" w1 git worktree add ../w2 -b w2 && expect "$1" w2 1.0.0; }
add_from_subdirectory() { both "$1" repo/sub git worktree add ../../w3 -b w3 && expect "$1" w3 1.0.0; }
add_with_C() { both "$1" . git -C repo worktree add ../w4 --detach other && expect "$1" w4 2.0.0; }
add_without_checkout() {
  both "$1" repo git worktree add --no-checkout ../w5 -b w5
  both "$1" w5 git checkout w5
  expect "$1" w5 1.0.0
}
switch_in_linked() {
  both "$1" w1 git switch -c w1-other other && expect "$1" w1 2.0.0
  both "$1" w1/sub git switch w1 && expect "$1" w1 1.0.0
}
switch_in_main() {
  both "$1" repo git switch other && expect "$1" repo 2.0.0
  both "$1" repo git switch main && expect "$1" repo 1.0.0
}
checkout_files() {
  both "$1" w1 git checkout other -- package.json package-lock.json
  one_line_at_most
  assert_provisioned "$(at "$1" w1)" ordinary 2.0.0
  both "$1" w1 git checkout HEAD -- package.json package-lock.json
  expect "$1" w1 1.0.0
}
merge() { both "$1" w2 git merge other && expect "$1" w2 2.0.0; }
pull() { both "$1" w3 git pull --ff-only origin other && expect "$1" w3 2.0.0; }
rebase() {
  both "$1" repo git worktree add ../w6 -b w6 && expect "$1" w6 1.0.0
  both "$1" w6 in_base 'echo change >>src.txt && git commit -qam change --no-verify && git rebase other'
  expect "$1" w6 2.0.0
}
bisect() {
  both "$1" w6 git switch --detach line
  both "$1" w6 git bisect start line main
  assert_provisioned "$(at "$1" w6)"
  both "$1" w6 git bisect bad
  assert_provisioned "$(at "$1" w6)"
  both "$1" w6 git bisect reset
  expect "$1" w6 2.0.0
}
# git runs no hook at all here: the status must say so, and the next checkout mends it.
stash() {
  both "$1" w1 in_base 'cp ../w2/package.json ../w2/package-lock.json . && git stash -q && git stash pop -q'
  [ "$(pfnm status "$(at "$1" w1)" --json | json_field current)" != true ] || fail "status calls a stale layout current"
  both "$1" w1 in_base 'git stash -q && git stash drop -q'
  both "$1" w1 git switch w1
  expect "$1" w1 1.0.0
}

every_operation() { # KIND WORDS
  local kind=$1 words=$2
  check "$words: git worktree add from the main checkout provisions" add_from_main "$kind"
  check "$words: git worktree add from a linked worktree provisions" add_from_linked "$kind"
  check "$words: git worktree add from a subdirectory provisions" add_from_subdirectory "$kind"
  check "$words: git -C worktree add provisions" add_with_C "$kind"
  if [ "$kind" != husky9 ]; then
    check "$words: git worktree add --no-checkout, then git checkout, provisions" add_without_checkout "$kind"
  fi
  check "$words: git switch in a linked worktree provisions" switch_in_linked "$kind"
  check "$words: git switch in the main checkout provisions" switch_in_main "$kind"
  check "$words: git checkout -- of the lock provisions" checkout_files "$kind"
  check "$words: git merge provisions" merge "$kind"
  check "$words: git pull provisions" pull "$kind"
  check "$words: git rebase provisions" rebase "$kind"
  check "$words: git bisect provisions" bisect "$kind"
  check "$words: git stash, which runs no hook, is seen by status and mended by the next checkout" stash "$kind"
}

# --- what only one arrangement has ----------------------------------------------------------------------------------------

# husky 9 keeps its runner out of git, and a worktree that was made without a checkout has none: git finds no hook there,
# and nothing of ours can say a word (git before 2.54). After the person's link it goes on by itself.
husky9_without_checkout() {
  both husky9 repo git worktree add --no-checkout ../w5 -b w5
  both husky9 w5 git checkout w5
  if [ ! -e "$(at husky9 w5)/node_modules" ]; then assert_link_heals "$(at husky9 w5)"; fi
  expect husky9 w5 1.0.0
  both husky9 w5 git switch -c w5-other other
  expect husky9 w5 2.0.0
}

husky9_runs_the_worktrees_own_hook() {
  both husky9 w1 git switch w1
  assert_match "hooks of the linked worktree" 'own husky hook' "$ERR"
}

# HUSKY=0 is the person's word that no hook shall run: git is as without us, and link gives the worktree everything.
husky_off() {
  local git_output
  HUSKY=0 both husky9-off repo git worktree add ../w1 -b w1
  git_output=$ERR
  if [ ! -e "$(at husky9-off w1)/node_modules" ]; then assert_link_heals "$(at husky9-off w1)"; fi
  ERR=$git_output expect husky9-off w1 1.0.0
  HUSKY=0 both husky9-off w1 git switch -c w1-other other
  both husky9-off w1 git switch -c w1-again other
  expect husky9-off w1 2.0.0
}

failing_own_hook() {
  local side
  make_twins own-failing
  for side in with without; do
    rm -f "$WORK/repos/own-failing/$side/repo/.git/hooks/post-checkout"
    hook_file "$WORK/repos/own-failing/$side/repo" post-checkout 'echo "own hook: $*"' 'exit 7'
  done
  rm -f "$WORK/repos/own-failing/with/repo/.git/pfnm-init" "$WORK/repos/own-failing/with/repo/.git/hooks/post-merge" \
    "$WORK/repos/own-failing/with/repo/.git/hooks/post-rewrite"
  must pfnm init "$WORK/repos/own-failing/with/repo"
  both own-failing repo git worktree add ../w1 -b w1
  assert_equal "exit status with a hook that ends with 7" 7 "$CODE"
  assert_match "output of the hook that was there" 'own hook: ' "$ERR"
  assert_provisioned "$(at own-failing w1)" ordinary 1.0.0
  both own-failing w1 git switch -c other-2 other
  assert_provisioned "$(at own-failing w1)" ordinary 2.0.0
  both own-failing w1 git checkout main -- package.json package-lock.json
  assert_provisioned "$(at own-failing w1)" ordinary 1.0.0
}

clone_with_global_hooks() {
  local hooks=$WORK/global-hooks
  mkdir -p "$hooks"
  cp "$WORK/repos/none/with/repo/.git/hooks/post-checkout" "$hooks/"
  run git -c core.hooksPath="$hooks" clone "$WORK/repos/none/with/repo.git" "$WORK/repos/clone-1"
  assert_equal "exit status of git clone" 0 "$CODE"
  assert_equal "stdout of git clone" "" "$OUT"
  one_line_at_most
  assert_provisioned "$WORK/repos/clone-1" ordinary 1.0.0
}

clone_with_template() {
  mkdir -p "$WORK/template/hooks" "$WORK/template/info"
  cp "$WORK/repos/none/with/repo/.git/hooks/post-checkout" "$WORK/template/hooks/"
  run git clone --template "$WORK/template" "$WORK/repos/none/with/repo.git" "$WORK/repos/clone-2"
  assert_equal "exit status of git clone" 0 "$CODE"
  one_line_at_most
  assert_provisioned "$WORK/repos/clone-2" ordinary 1.0.0
}

worktree_outside_a_project() {
  local repo=$WORK/repos/no-project
  new_repository "$repo"
  commit "$repo" first
  must pfnm init "$repo"
  run git -C "$repo" worktree add ../no-project-w
  assert_equal "exit status" 0 "$CODE"
  assert_equal "what pfnm says" "" "$(our_lines "$ERR")"
  assert_absent "$repo-w/node_modules" "a worktree without a lock"
}

users_own_tree_is_left() {
  local tree before
  tree=$(at none w4)
  must rm -rf "$tree/node_modules"
  mkdir -p "$tree/node_modules/mine"
  echo mine >"$tree/node_modules/mine/file"
  before=$(find "$tree/node_modules" -printf '%p %T@ %m\n')
  run git -C "$tree" switch --detach main
  assert_equal "exit status" 0 "$CODE"
  assert_equal "the user's own node_modules" "$before" "$(find "$tree/node_modules" -printf '%p %T@ %m\n')"
}

mode_off_does_nothing() {
  run env PF_NM_MODE=off git -C "$(at none repo)" worktree add ../w-off
  assert_equal "exit status" 0 "$CODE"
  assert_absent "$(at none w-off)/node_modules" "PF_NM_MODE=off"
}

damaged_lock_is_a_line() {
  local tree
  tree=$(at none w2)
  (cd "$tree" && git switch -q -c conflict && printf '<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n' >package-lock.json)
  commit "$tree" conflict
  run git -C "$(at none repo)" worktree add ../w-conflict --detach conflict
  assert_equal "exit status" 0 "$CODE"
  assert_equal "lines" 1 "$(count_lines "$(our_lines "$ERR")")"
  assert_absent "$(at none w-conflict)/node_modules" "a lock with conflict markers"
}

# --- many and slow --------------------------------------------------------------------------------------------------------

all_provisioned() {
  local n
  for n in $(seq 40); do [ -e "$WORK/repos/crowd-$n/node_modules/.worktree-provisioned" ] || return 1; done
}

# git itself, without us too, sometimes trips over a worktree that another git is making at that moment, before it has
# made anything or run a hook ("failed to read .git/worktrees/X/commondir"): whoever does this does it again.
add_to_crowd() { # NUMBER
  local try
  for try in $(seq 50); do
    git -C "$WORK/repos/crowd" worktree add -q --detach "../crowd-$1" fresh >"$WORK/crowd-$1.out" 2>"$WORK/crowd-$1.err" </dev/null && return 0
    grep -q '^fatal: failed to read .*commondir' "$WORK/crowd-$1.err" || return 1
    echo "try $try of worktree $1"
  done
  return 1
}

forty_at_once() {
  local n pids=() bad=0
  export PFNM_STORE=$WORK/store-crowd
  must new_project "$WORK/repos/crowd" ordinary@1.0.0 another@1.0.0
  must pfnm link "$WORK/repos/crowd"
  branch "$WORK/repos/crowd" fresh ordinary@3.0.0 another@1.0.0
  for n in $(seq 40); do
    add_to_crowd "$n" &
    pids+=($!)
  done
  for n in "${pids[@]}"; do wait "$n" || bad=$((bad + 1)); done
  [ "$bad" = 0 ] || fail "$bad git worktree add failed: $(cat "$WORK"/crowd-*.err | sort | uniq -c)"
  assert_equal "stdout" "" "$(cat "$WORK"/crowd-*.out)"
  poll 120 all_provisioned || fail "not all provisioned: $(cat "$WORK"/crowd-*.err | sort | uniq -c)"
  for n in $(seq 40); do
    assert_equal "lines of worktree $n" 1 "$(count_lines "$(our_lines "$(cat "$WORK/crowd-$n.err")")")"
    assert_equal "version in worktree $n" 3.0.0 "$(version_in "$WORK/repos/crowd-$n" ordinary)"
  done
  for n in 1 20 40; do assert_provisioned "$WORK/repos/crowd-$n" ordinary 3.0.0; done
  assert_equal "installs built" 2 "$(pfnm install ls --json | node -p 'JSON.parse(require("fs").readFileSync(0)).installs.filter((i) => i.sealed).length')"
}

mkdir -p "$WORK/lock1" "$WORK/lock2"
write_lock "$WORK/lock1" ordinary@1.0.0 another@1.0.0
write_lock "$WORK/lock2" ordinary@2.0.0 another@1.0.0
prepare_store() {
  new_repository "$WORK/repos/first"
  local n
  for n in 1 2; do
    cp "$WORK/lock$n/"* "$WORK/repos/first/"
    must pfnm link "$WORK/repos/first"
  done
}

prepare "the two installs that the operations use can be built" prepare_store
for kind in none own-hook git-lfs tracked husky9 husky8; do
  case $kind in
    none) words="no hooksPath" ;;
    own-hook) words="an own hook" ;;
    git-lfs) words="git-lfs's hooks" ;;
    tracked) words="a tracked hooksPath" ;;
    husky9) words="husky 9" ;;
    husky8) words="husky 8" ;;
  esac
  prepare "$words: pfnm init has a place for the hook" make_twins $kind
  every_operation $kind "$words"
done
check "husky 9: a worktree made with --no-checkout is mended by pfnm link, and hooks run there from then on" husky9_without_checkout
check "husky 9: the project's own hooks run in a provisioned worktree" husky9_runs_the_worktrees_own_hook
prepare "HUSKY=0: pfnm init has a place for the hook" make_twins husky9-off
check "HUSKY=0: git is as without pfnm, pfnm link provisions, and hooks go on when it is unset" husky_off
check "an own hook that fails: its exit status and output are kept, and the worktree is provisioned" failing_own_hook
check "git clone with a global hooksPath provisions" clone_with_global_hooks
check "git clone with a template provisions" clone_with_template
check "a repository without a lock: git worktree add says nothing of pfnm" worktree_outside_a_project
check "a node_modules that pfnm did not make is left alone by git switch" users_own_tree_is_left
check "PF_NM_MODE=off: nothing is provisioned" mode_off_does_nothing
check "a lock with conflict markers: one line, and no node_modules" damaged_lock_is_a_line
check "40 git worktree add at once all end provisioned, from one build" forty_at_once
