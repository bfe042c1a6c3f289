# shellcheck shell=bash
# Node and the usual tools in the linked exp-repo.

# The programs print last where a package was found; that differs, the rest may not.
same_output() {
  local here there
  there=$(in_dir "$WORK/exp-repo/plain" "$@") || return 1
  here=$(in_dir "$WORK/exp-repo/one" "$@") || return 1
  echo "$here"
  same_text "${there% *}" "${here% *}"
}

tool_in_linked() {
  in_dir "$WORK/exp-repo/one" "$@"
}

# declare DIRECTORY [OPTION...]: emits the declaration of a type that only a dependency of a dependency can name.
declare_type() {
  local directory=$1
  shift
  mkdir -p "$directory/dist/in"
  printf '%s\n' "import webpack from 'webpack';" \
    "export const done = (compiler: webpack.Compiler) => compiler.hooks.done;" >"$directory/dist/in/declared.ts"
  in_dir "$directory" npx --no -- tsc --declaration --module nodenext --moduleResolution nodenext --target es2022 \
    --types node --skipLibCheck --outDir dist/out "$@" dist/in/declared.ts
}

# A documented limit of links: such a declaration would name a path outside the project. The compiler says so, it does
# not write a wrong file; keeping the links as they are (preserveSymlinks) avoids it.
declaration_is_the_known_limit() {
  local log=$LOGS/declaration.txt
  exits 0 declare_type "$WORK/exp-repo/plain" || return 1
  if declare_type "$WORK/exp-repo/one" >"$log" 2>&1; then
    echo "passed: the limit is gone, say so in the documentation"
    return 1
  fi
  cat "$log"
  grep -q 'error TS2742' "$log" && ! grep 'error TS' "$log" | grep -v 'error TS2742' || return 1
}

declaration_with_preserved_links() {
  exits 0 declare_type "$WORK/exp-repo/one" --preserveSymlinks || return 1
  cmp "$WORK/exp-repo/plain/dist/out/declared.d.ts" "$WORK/exp-repo/one/dist/out/declared.d.ts"
}

eslint_with_cache() {
  local cache=node_modules/.cache/eslint
  tool_in_linked npx --no -- eslint --cache --cache-location "$cache" src test || return 1
  [ -s "$WORK/exp-repo/one/$cache" ] || [ -d "$WORK/exp-repo/one/$cache" ]
}

linked_exp_repo() {
  plain exp-repo || return 1
  [ -e "$WORK/exp-repo/one" ] || worktree exp-repo one || return 1
  "$PFNM" link "$WORK/exp-repo/one"
}

status_intact() {
  local status
  status=$("$PFNM" status --json "$1" | grep -o '"intact":[a-z]*')
  same_text '"intact":true' "$status"
}

case_tools() {
  have_project exp-repo || {
    skip tools "not in the corpus"
    return
  }
  check tools/linked linked_exp_repo || return
  check tools/node-cjs same_output node cjs.js
  check tools/node-esm same_output node esm.mjs
  check tools/node-preserve-symlinks-cjs same_output node --preserve-symlinks cjs.js
  check tools/node-preserve-symlinks-esm same_output node --preserve-symlinks --preserve-symlinks-main esm.mjs
  check tools/tsc tool_in_linked npx --no -- tsc -p . --declaration false
  check tools/tsc-declarations-of-the-project tool_in_linked npx --no -- tsc -p .
  check tools/tsc-declaration-is-the-documented-limit declaration_is_the_known_limit
  check tools/tsc-declaration-with-preserved-links declaration_with_preserved_links
  check tools/vitest tool_in_linked npx --no -- vitest run
  check tools/jest tool_in_linked npx --no -- jest
  check tools/eslint-cache eslint_with_cache
  check tools/webpack tool_in_linked npx --no -- webpack
  check tools/webpack-again tool_in_linked npx --no -- webpack
  check tools/vite-build tool_in_linked npx --no -- vite build
  check tools/git-status-clean git_clean "$WORK/exp-repo/one"
  check tools/still-intact status_intact "$WORK/exp-repo/one"
  check tools/link-afterwards-unchanged untouched_by_second_link "$WORK/exp-repo/one"
  check tools/install-verify-all "$PFNM" install verify --all
}
