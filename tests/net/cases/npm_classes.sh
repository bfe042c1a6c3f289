# shellcheck shell=bash
# npm 10, 11 and 12 make different trees of one lock: other keys, one install each, and links that work.

link_with() {
  local tree=$WORK/exp-repo/classes
  with_npm "$1" "$PFNM" link "$tree" || return 1
  in_dir "$tree" node cjs.js || return 1
  in_dir "$tree" with_npm "$1" npm ls --all >"$LOGS/classes-ls-$1.txt" 2>&1 || return 1
  git_clean "$tree" || return 1
  basename "$(install_of "$tree")" >"$LOGS/key-$1"
}

three_keys() {
  cat "$LOGS/key-$NPM_10" "$LOGS/key-$NPM_11" "$LOGS/key-$NPM_12"
  same_text 3 "$(cat "$LOGS/key-$NPM_10" "$LOGS/key-$NPM_11" "$LOGS/key-$NPM_12" | sort -u | wc -l)" || return 1
  # One lock: the sha256 that the names begin with is the same.
  same_text 1 "$(cat "$LOGS/key-$NPM_10" "$LOGS/key-$NPM_11" "$LOGS/key-$NPM_12" | cut -c1-64 | sort -u | wc -l)"
}

case_npm_classes() {
  have_project exp-repo || {
    skip npm-classes "not in the corpus"
    return
  }
  worktree exp-repo classes
  local version
  for version in "$NPM_10" "$NPM_12" "$NPM_11"; do
    check "npm-classes/link-with-$version" link_with "$version"
  done
  check npm-classes/three-keys three_keys
}
