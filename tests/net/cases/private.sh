# shellcheck shell=bash
# A private copy is the tree of npm ci, and nobody else's.

same_private() {
  local workspace=$WORK/exp-repo plain_tree tree
  plain_tree=$workspace/plain
  tree=$workspace/private
  # Ours: the marker and the writable directories. Known: the workspace's binary (npm links it and makes the workspace's
  # file executable).
  node "$HERE/compare-tree.mjs" "$plain_tree/node_modules" "$tree/node_modules" --skip .worktree-provisioned \
    --skip .cache --skip .vite --skip .vite-temp --skip .vitest --skip .vitest-cache --skip .tmp --known .bin/acme-a || return 1
  node "$HERE/compare-tree.mjs" "$plain_tree/packages/a/node_modules" "$tree/packages/a/node_modules"
}

private_inodes() {
  local tree=$WORK/exp-repo/private common
  common=$(comm -12 <(find "$tree/node_modules" "$tree/packages" -type f -printf '%D %i\n' | sort -u) \
    <(find "$PFNM_STORE" -type f -printf '%D %i\n' | sort -u) | wc -l)
  same_text 0 "$common"
}

nothing_shared_touched() {
  store_state "$PFNM_STORE" >"$LOGS/private-before"
  in_dir "$WORK/exp-repo/private" npm install left-pad || return 1
  store_state "$PFNM_STORE" >"$LOGS/private-after"
  same_store "$LOGS/private-before" "$LOGS/private-after" && [ -f "$WORK/exp-repo/private/node_modules/left-pad/package.json" ]
}

make_private() {
  plain exp-repo || return 1
  worktree exp-repo private || return 1
  "$PFNM" link "$WORK/exp-repo/private" || return 1
  "$PFNM" private --json "$WORK/exp-repo/private" | tee /dev/stderr | grep -q '"action":"private"'
}

case_private() {
  have_project exp-repo || {
    skip private "not in the corpus"
    return
  }
  check private/made make_private || return
  TAIL=8 check private/equals-npm-ci same_private
  check private/shares-no-file private_inodes
  check private/git-status-clean git_clean "$WORK/exp-repo/private"
  check private/node in_dir "$WORK/exp-repo/private" node cjs.js
  check private/npm-ls in_dir "$WORK/exp-repo/private" npm ls --all
  check private/npx-workspace-binary in_dir "$WORK/exp-repo/private" npx --no -- acme-a
  check private/npm-install-touches-nothing-shared nothing_shared_touched
  check private/verify-all "$PFNM" install verify --all
  drop_worktree exp-repo private
}
