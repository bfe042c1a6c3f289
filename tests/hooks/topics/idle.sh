# shellcheck shell=bash
# With nothing to do, the hook starts no program and reads no configuration (SPEC 5.4).

idle=$WORK/repos/idle
export PFNM_STORE=$WORK/store-idle

prepare_idle() {
  new_project "$idle" ordinary@1.0.0
  must pfnm link "$idle"
  write_lock "$idle" ordinary@2.0.0
  must pfnm link "$idle"
  commit "$idle" second
  must git -C "$idle" branch first HEAD~1
  must git -C "$idle" worktree add -q --detach "$idle-w" main
  assert_provisioned "$idle-w" ordinary 2.0.0
}

calls=execve,openat,open,connect,clone,clone3,fork,vfork

trace() { # DIRECTORY [-E VARIABLE=VALUE] COMMAND...: leaves the system calls of each process in $WORK/trace.*
  local directory=$1
  shift
  command -v strace >/dev/null || skip "no strace"
  strace -o "$WORK/probe" true || skip "strace may not trace here"
  rm -f "$WORK/trace".*
  run in_dir "$directory" strace -ff -e "trace=$calls" -o "$WORK/trace" "$@"
  assert_equal "exit status" 0 "$CODE"
}

system_calls() { cat "$WORK/trace".*; }

programs() { system_calls | sed -nE 's/^execve\("([^"]*)".* = 0$/\1/p'; }

assert_starts_nothing() {
  assert_equal "programs" "$(command -v pfnm)" "$(programs)"
  assert_equal "processes started" "" "$(system_calls | grep -E '^(clone3?|v?fork)\(' || :)"
  assert_equal "connections" "" "$(system_calls | grep '^connect(' || :)"
}

assert_reads_no_configuration() {
  assert_equal "configuration that was read" "" \
    "$(system_calls | grep -E '^open(at)?\(' | grep -E '/\.git/config|gitconfig|\.config/git|openssl|\.npmrc|/etc/' || :)"
}

hook_alone() { # EVENT
  trace "$idle-w" pfnm hook "$1" 0 0 1
  assert_starts_nothing
  assert_reads_no_configuration
  assert_equal "what it says" "" "$OUT$ERR"
}

hook_with_another_path() {
  mkdir -p "$WORK/no-node-here"
  trace "$idle-w" -E PATH="$WORK/no-node-here" "$(command -v pfnm)" hook post-checkout 0 0 1
  assert_starts_nothing
  assert_reads_no_configuration
  assert_equal "what it says" "" "$OUT$ERR"
}

# The lock has another mtime, the same bytes: its digest decides.
hook_with_touched_lock() {
  touch "$idle-w/package-lock.json"
  trace "$idle-w" pfnm hook post-checkout 0 0 1
  assert_starts_nothing
  assert_reads_no_configuration
  assert_equal "what it says" "" "$OUT$ERR"
}

# Another lock whose install is there: the links are made by the same one process.
hook_that_links() {
  must git -C "$idle-w" -c core.hooksPath=/dev/null switch -q --detach first
  trace "$idle-w" pfnm hook post-checkout 0 0 1
  assert_starts_nothing
  assert_provisioned "$idle-w" ordinary 1.0.0
}

hook_under_git() {
  trace "$idle-w" git switch -q -c again
  assert_equal "programs beside git and the hook" "" \
    "$(programs | grep -vE '/(git|pfnm|post-checkout|sh|dash|bash)$' || :)"
  assert_equal "runs of pfnm" 1 "$(programs | grep -c '/pfnm$')"
}

prepare "the worktree for the traces is provisioned" prepare_idle
for event in post-checkout post-merge post-rewrite; do
  check "nothing to do: $event starts nothing and reads no configuration" hook_alone $event
done
check "nothing to do: a PATH without node does not matter" hook_with_another_path
check "nothing to do: a lock with another mtime is judged by content, and nothing is started" hook_with_touched_lock
check "a lock whose install is there: the front links it, and nothing is started" hook_that_links
check "nothing to do: under git only the hook's shell and pfnm run" hook_under_git
export PFNM_STORE=$WORK/store
