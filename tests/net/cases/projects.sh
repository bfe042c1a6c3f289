# shellcheck shell=bash
# A real project linked in two worktrees, against a plain npm ci in a third copy.

# npm_ls VERSION DIRECTORY OUTPUT: what `npm ls --all --json` prints; exit status into OUTPUT.rc.
npm_ls() {
  local code=0
  in_dir "$2" with_npm "$1" npm ls --all --json >"$3" 2>"$3.err" || code=$?
  echo "$code" >"$3.rc"
}

# The same exit status and, but for where things lie, the same tree.
same_npm_ls() {
  local reference=$1 linked=$2
  same_text "$(cat "$reference.rc")" "$(cat "$linked.rc")" || {
    tail -n 3 "$linked.err"
    return 1
  }
  node "$HERE/ls-tree.mjs" "$reference" "$linked"
}

check_npm_ls() {
  local name=$1 tree=$WORK/$1/one workspace=$2 version
  for version in "$NPM_10" "$NPM_11" "$NPM_12"; do
    npm_ls "$version" "$WORK/$name/plain" "$LOGS/$name-ls-$version-plain"
    npm_ls "$version" "$tree" "$LOGS/$name-ls-$version"
    check "$name/npm-ls-$version (exit $(cat "$LOGS/$name-ls-$version-plain.rc"))" \
      same_npm_ls "$LOGS/$name-ls-$version-plain" "$LOGS/$name-ls-$version"
    if [ -n "$workspace" ]; then
      touch "$tree/$workspace/new-file"
      npm_ls "$version" "$tree" "$LOGS/$name-ls-$version-file"
      check "$name/npm-ls-$version-after-new-file" same_npm_ls "$LOGS/$name-ls-$version-plain" "$LOGS/$name-ls-$version-file"
      rm "$tree/$workspace/new-file"
    fi
    mkdir "$tree/node_modules/.newdot"
    npm_ls "$version" "$tree" "$LOGS/$name-ls-$version-dot"
    check "$name/npm-ls-$version-after-new-dot-directory" same_npm_ls "$LOGS/$name-ls-$version-plain" "$LOGS/$name-ls-$version-dot"
    rmdir "$tree/node_modules/.newdot"
  done
}

git_clean() {
  same_text "" "$(git -C "$1" status --porcelain --untracked-files=all)"
}

# link_two NAME: both worktrees linked; the first builds, the second finds the install.
link_two() {
  local name=$1 first second
  [ -e "$WORK/$name/one" ] || worktree "$name" one || return 1
  worktree "$name" two || return 1
  "$PFNM" link --json "$WORK/$name/one" >"$LOGS/$name-link-one.json" || return 1
  "$PFNM" link --json "$WORK/$name/two" >"$LOGS/$name-link-two.json" || return 1
  cat "$LOGS/$name-link-one.json" "$LOGS/$name-link-two.json"
  grep -q '"action":"linked"' "$LOGS/$name-link-two.json" || return 1
  first=$(install_of "$WORK/$name/one")
  second=$(install_of "$WORK/$name/two")
  same_text "$first" "$second" && [ -d "$first/node_modules" ]
}

one_install() {
  "$PFNM" install ls --json >"$LOGS/$1-installs.json" || return 1
  node -e '
    const { installs } = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
    const wanted = process.argv[2];
    const found = installs.filter((install) => install.path === wanted);
    console.log(installs.map((install) => install.path).join("\n"));
    process.exit(found.length === 1 && found[0].sealed ? 0 : 1);
  ' "$LOGS/$1-installs.json" "$(install_of "$WORK/$1/one")"
}

# A change in a workspace is seen by its own worktree only. The file is read as a dependent would find it.
own_workspaces() {
  local name=$1 package=$2 directory=$3 one=$WORK/$1/one two=$WORK/$1/two seen
  echo "module.exports = 'changed in one'" >"$one/$directory/seen-by-one.cjs"
  seen=$(in_dir "$one" node -p "require('./node_modules/$package/seen-by-one.cjs')") || return 1
  same_text "changed in one" "$seen" || return 1
  if in_dir "$two" node -p "require('./node_modules/$package/seen-by-one.cjs')"; then
    echo "the other worktree sees it too"
    return 1
  fi
  rm "$one/$directory/seen-by-one.cjs"
}

untouched_by_second_link() {
  local tree=$1 before after
  before=$(find "$tree/node_modules" -printf '%p %i %T@ %C@\n' | sort)
  "$PFNM" link --json "$tree" | grep '"action":"unchanged"' || return 1
  after=$(find "$tree/node_modules" -printf '%p %i %T@ %C@\n' | sort)
  same_text "$before" "$after"
}

# What a build leaves out of the install and what npm writes differently by place.
same_install() {
  local name=$1 install nested directory
  shift
  install=$(install_of "$WORK/$name/one")
  node "$HERE/compare-tree.mjs" "$WORK/$name/plain/node_modules" "$install/node_modules" --no-write-bits \
    --skip .package-lock.json "$@" || return 1
  while read -r nested; do
    directory=${nested#"$install"/}
    [ -n "$(ls -A "$nested")" ] || [ -e "$WORK/$name/plain/$directory" ] || continue
    echo "$directory"
    node "$HERE/compare-tree.mjs" "$WORK/$name/plain/$directory" "$nested" --no-write-bits || return 1
  done < <(find "$install" -path "$install/node_modules" -prune -o -name node_modules -print -prune)
}

# project NAME WORKSPACE PACKAGE SCRIPT BINARY [COMPARE-OPTIONS...]: WORKSPACE is one workspace's directory and PACKAGE
# its name (both empty: no workspaces); SCRIPT what `npm run` is tried with; BINARY a dependency's.
project() {
  local name=$1 workspace=$2 package=$3 script=$4 binary=$5
  shift 5
  have_project "$name" || {
    skip "$name" "not in the corpus"
    return 1
  }
  check "$name/plain-npm-ci" plain "$name" || return 1
  check "$name/link-two-worktrees" link_two "$name" || return 1
  check "$name/one-install-shared" one_install "$name"
  check "$name/git-status-clean" git_clean "$WORK/$name/one"
  TAIL=8 check "$name/every-package-resolves" node "$HERE/resolve.mjs" "$WORK/$name/plain" "$WORK/$name/one"
  TAIL=8 check "$name/install-equals-npm-ci" same_install "$name" "$@"
  check "$name/install-verify" "$PFNM" install verify "$(basename "$(install_of "$WORK/$name/one")")"
  check_npm_ls "$name" "$workspace"
  # shellcheck disable=SC2086 # the script with its arguments
  check "$name/npm-run-${script%% *}" in_dir "$WORK/$name/one" npm run $script
  check "$name/npx-$binary" in_dir "$WORK/$name/one" npx --no -- "$binary" --version
  if [ -n "$workspace" ]; then
    check "$name/workspace-change-seen-by-its-worktree-only" own_workspaces "$name" "$package" "$workspace"
  fi
  check "$name/second-link-touches-nothing" untouched_by_second_link "$WORK/$name/two"
}

case_helloworld() {
  project helloworld "" "" compile tsc
}

case_bom() {
  project bom "" "" compile tsc
}

case_nodejs_org() {
  project nodejs.org packages/i18n @node-core/website-i18n "prettier -- --version" turbo
}

case_hydrogen() {
  project hydrogen packages/remix-oxygen @shopify/remix-oxygen "lint -- --version" turbo
}

# better-sqlite3 is compiled: what node-gyp leaves beside the add-on names the directory that it was built in, and so do
# the add-on and its object where node's headers lie in the scratch directory (recent_node): gyp makes their path relative.
case_boxyhq() {
  project boxyhq "" "" "check-types -- --version" next --known better-sqlite3/build/Makefile \
    --known better-sqlite3/build/config.gypi --known 'better-sqlite3/build/Release/.deps/**.d' --known 'better-sqlite3/build/**.target.mk' \
    --known better-sqlite3/build/Release/better_sqlite3.node --known 'better-sqlite3/build/Release/obj.target/**' || return
  # prisma generate writes beside the real path of @prisma/client: both have to be the worktree's own.
  check boxyhq/prisma-is-the-worktrees-own own_prisma "$WORK/boxyhq/one"
}

own_prisma() {
  same_text "$1/node_modules/@prisma/client" "$(realpath "$1/node_modules/@prisma/client")" || return 1
  [ -w "$1/node_modules/.prisma/client" ] && [ ! -L "$1/node_modules/.prisma" ]
}

prints() {
  local wanted=$1
  shift
  same_text "$wanted" "$("$@")"
}

case_exp_repo() {
  local name=exp-repo one=$WORK/exp-repo/one two=$WORK/exp-repo/two said
  # npm links the workspace's binary and makes the workspace's own file executable; pfnm writes a wrapper.
  project "$name" packages/b @acme/b hello tsc --known .bin/acme-a || return
  said=$(in_dir "$WORK/$name/plain" npx --no -- acme-a 2>/dev/null)
  check "$name/npx-workspace-binary" in_dir "$one" prints "$said" npx --no -- acme-a
  check "$name/npx-workspace-binary-of-second" in_dir "$two" prints "$said" npx --no -- acme-a
  check "$name/npm-exec-in-workspace" in_dir "$one" prints 1.2.3 npm exec -w packages/a --no -- semver 1.2.3
  check "$name/workspace-a-seen-by-its-worktree-only" own_workspaces "$name" a packages/a
  check "$name/patch-applied-byte-for-byte" cmp "$WORK/$name/plain/node_modules/ms/index.js" "$one/node_modules/ms/index.js"
  check "$name/patch-is-there" patched "$one"
  check "$name/git-status-clean-afterwards" git_clean "$one"
}

# The patched file is not the registry's: the patch's added lines are in it.
patched() {
  local line
  line=$(sed -n 's/^+\([^+].*\)/\1/p' "$1/patches/ms+2.1.3.patch" | head -n 1)
  [ -n "$line" ] && grep -F -- "$line" "$1/node_modules/ms/index.js"
}
