# shellcheck shell=bash
# git's local variables, which it sets for its hooks, must not reach a build: a script's own git would then work on the
# repository whose hook it is.

leaks=$WORK/repos/leaks
export PFNM_STORE=$WORK/store-leaks

prepare_leaks() {
  new_project "$leaks" ordinary@1.0.0
  branch "$leaks" approved ordinary@1.0.0 git-init@1.0.0
  must git -C "$leaks" worktree add -q "$leaks-w" approved
  must pfnm link "$leaks-w"
  [ -e "$(canary git-init)" ] || fail "the script did not run"
}

# builds_elsewhere COMMAND...: the hook of the command builds, its script runs `git init`.
builds_elsewhere() {
  local config worktrees
  rm -rf "$WORK/elsewhere" "$(canary git-init)"
  config=$(sha256sum "$leaks/.git/config")
  worktrees=$(git -C "$leaks" worktree list | wc -l)
  run "$@"
  assert_equal "exit status of git" 0 "$CODE"
  [ -e "$(canary git-init)" ] || fail "the hook did not build: $ERR"
  assert_equal "the shared configuration" "$config" "$(sha256sum "$leaks/.git/config")"
  assert_equal "core.bare" false "$(git -C "$leaks" config core.bare)"
  assert_equal "core.worktree" "" "$(git -C "$leaks" config core.worktree)"
  [ -d "$WORK/elsewhere/.git" ] || fail "git init in a build did not make its own repository"
  assert_equal "git's variables in the build" "" \
    "$(grep -E '^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|PREFIX|OBJECT_DIRECTORY|CONFIG_PARAMETERS|CONFIG_COUNT|NAMESPACE)=' "$WORK/elsewhere.env")"
  assert_equal "git status of the main checkout" "" "$(git -C "$leaks" status --porcelain)"
  [ "$(git -C "$leaks" worktree list | wc -l)" -ge "$worktrees" ] || fail "a worktree is gone"
}

switch_in_linked_worktree() {
  branch "$leaks" build-1 ordinary@2.0.0 git-init@1.0.0
  builds_elsewhere git -C "$leaks-w" switch -q build-1
  assert_provisioned "$leaks-w" ordinary 2.0.0
}

worktree_add_from_subdirectory() {
  branch "$leaks" build-2 ordinary@3.0.0 git-init@1.0.0
  builds_elsewhere in_dir "$leaks/sub" git worktree add -q ../../leaks-2 build-2
  assert_provisioned "$leaks-2" ordinary 3.0.0
}

git_dir_and_work_tree_given() {
  branch "$leaks" build-3 ordinary@4.0.0 git-init@1.0.0
  builds_elsewhere git --git-dir="$leaks/.git" --work-tree="$leaks" -c user.name=other switch -q build-3
  assert_provisioned "$leaks" ordinary 4.0.0
  must git -C "$leaks" switch -q main
}

checkout_of_the_lock() {
  branch "$leaks" build-4 ordinary@5.0.0 git-init@1.0.0
  must git -C "$leaks" worktree add -q --detach "$leaks-4" approved
  builds_elsewhere git -C "$leaks-4" checkout -q build-4 -- package.json package-lock.json
  assert_provisioned "$leaks-4" ordinary 5.0.0
}

clone_builds() {
  local hooks=$WORK/leaks-hooks
  mkdir -p "$hooks"
  cp "$leaks/.git/hooks/post-checkout" "$hooks/"
  branch "$leaks" build-5 ordinary@6.0.0 git-init@1.0.0
  builds_elsewhere git -c core.hooksPath="$hooks" clone -q -b build-5 "$leaks" "$leaks-5"
  assert_provisioned "$leaks-5" ordinary 6.0.0
  assert_equal "core.bare of the clone" false "$(git -C "$leaks-5" config core.bare)"
}

prepare "the package whose script runs git init is approved" prepare_leaks
check "git switch in a linked worktree: git init in the hook's build does not touch the shared configuration" switch_in_linked_worktree
check "git worktree add from a subdirectory: git init in the hook's build does not touch the shared configuration" worktree_add_from_subdirectory
check "git --git-dir --work-tree: git init in the hook's build does not touch the shared configuration" git_dir_and_work_tree_given
check "git checkout -- of the lock: git init in the hook's build does not touch the shared configuration" checkout_of_the_lock
check "git clone: git init in the hook's build does not touch either configuration" clone_builds
export PFNM_STORE=$WORK/store
