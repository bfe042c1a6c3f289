# shellcheck shell=bash
# shellcheck disable=SC2016  # CHANGE is evaluated later
# A checkout must not become code execution: what a branch can bring along, and what a hook makes of it (docs/trust.md).

trust=$WORK/repos/trust
patched=$WORK/repos/patched
export PFNM_STORE=$WORK/store-trust

# Nothing has run, one line says what and how, git is content, and the worktree is whole.
assert_refused() { # WHAT-THE-LINE-SAYS
  local lines
  lines=$(our_lines "$ERR")
  assert_equal "exit status of git" 0 "$CODE"
  assert_equal "stdout of git" "" "$OUT"
  assert_nothing_ran
  assert_equal "lines of pfnm ($lines)" 1 "$(count_lines "$lines")"
  assert_match "the line" "$1" "$lines"
}

# A checkout of the branch, as a new worktree and in one that is linked already.
stays_out() { # REPOSITORY BRANCH WHAT-THE-LINE-SAYS
  local repo=$1 branch=$2 says=$3 before
  clear_canaries
  run git -C "$repo" worktree add -q "$repo-$branch" "$branch"
  assert_refused "$says"
  assert_absent "$repo-$branch/node_modules" "a worktree of an unapproved branch"
  assert_no_half_layout "$repo-$branch"
  must git -C "$repo" worktree add -q --detach "$repo-at-$branch" main
  before=$(readlink "$repo-at-$branch/node_modules/.pf/shared")
  clear_canaries
  run git -C "$repo-at-$branch" switch -q --detach "$branch"
  assert_refused "$says"
  assert_equal "the install that the worktree had" "$before" "$(readlink "$repo-at-$branch/node_modules/.pf/shared")"
  assert_no_half_layout "$repo-at-$branch"
  no_install_is_left_unsealed
}

no_install_is_left_unsealed() {
  local install
  for install in "$PFNM_STORE"/*/; do
    [ -e "$PFNM_STORE/.pf/seals/$(basename "$install")" ] || fail "left in the store without a seal: $install"
  done
}

# stays_out, then: the person's own link approves, and hooks build with the approved things from then on.
is_approved_once() { # REPOSITORY BRANCH WHAT-THE-LINE-SAYS NEXT-BRANCH
  local repo=$1 branch=$2
  stays_out "$repo" "$branch" "$3"
  clear_canaries
  run pfnm link "$repo-$branch"
  assert_equal "exit code of pfnm link" 0 "$CODE"
  assert_provisioned "$repo-$branch" ordinary 1.0.0
  run git -C "$repo" worktree add -q --detach "$repo-$branch-again" "$branch"
  assert_equal "exit status of git" 0 "$CODE"
  assert_provisioned "$repo-$branch-again" ordinary 1.0.0
  run git -C "$repo" worktree add -q --detach "$repo-$branch-next" "$4"
  assert_equal "exit status of git" 0 "$CODE"
  assert_provisioned "$repo-$branch-next" ordinary 2.0.0
  assert_equal "lines of pfnm" 1 "$(count_lines "$(our_lines "$ERR")")"
}

# --- the cases ----------------------------------------------------------------------------------------------------------

prepare_trust() {
  new_project "$trust" ordinary@1.0.0
  must pfnm link "$trust"
}

ordinary_builds() {
  branch "$trust" adds-ordinary ordinary@1.0.0 another@1.0.0
  run git -C "$trust" worktree add -q "$trust-adds-ordinary" adds-ordinary
  assert_equal "exit status of git" 0 "$CODE"
  assert_equal "stdout of git" "" "$OUT"
  assert_provisioned "$trust-adds-ordinary" another 1.0.0
  assert_equal "lines of pfnm" 1 "$(count_lines "$(our_lines "$ERR")")"
}

install_script() {
  branch "$trust" script ordinary@1.0.0 scripted-a@1.0.0
  branch "$trust" script-next ordinary@2.0.0 scripted-a@1.0.0
  is_approved_once "$trust" script 'scripted-a@1\.0\.0.*pfnm link' script-next
  [ -e "$(canary scripted-a)" ] || fail "the approved script did not run in the hook's build"
}

npmrc_program() { # BRANCH LINE
  local program=$WORK/evil-program
  printf '%s\n' '#!/bin/sh' "touch '$(canary npmrc-program)'" >"$program"
  echo "require('fs').writeFileSync('$(canary npmrc-module)', '')" >"$WORK/evil.cjs"
  chmod 0755 "$program"
  CHANGE="echo '$2' >.npmrc" branch "$trust" "$1" ordinary@5.0.0
  stays_out "$trust" "$1" '\.npmrc'
  run pfnm link "$trust-$1"
  [ "$CODE" != 0 ] || fail "pfnm link built with $2"
  assert_nothing_ran
  assert_match "what pfnm link says" '\.npmrc' "$ERR"
  assert_no_half_layout "$trust-$1"
}

npmrc_registry() {
  CHANGE="echo registry=$PFNM_TEST_REGISTRY/other/ >.npmrc" branch "$trust" registry ordinary@1.0.0 helper@1.0.0
  CHANGE="echo registry=$PFNM_TEST_REGISTRY/other/ >.npmrc" branch "$trust" registry-next ordinary@2.0.0 helper@1.0.0
  is_approved_once "$trust" registry '\.npmrc.*pfnm link' registry-next
}

lock_without_has_install_script() {
  branch "$trust" quiet ordinary@1.0.0 quiet-script@1.0.0:quiet
  stays_out "$trust" quiet 'quiet-script@1\.0\.0'
}

lock_without_gyp() {
  branch "$trust" gyp ordinary@1.0.0 with-gyp@1.0.0
  stays_out "$trust" gyp 'with-gyp@1\.0\.0.*pfnm link'
}

package_in_a_package() {
  branch "$trust" carrier ordinary@1.0.0 carrier@1.0.0
  stays_out "$trust" carrier 'carrier/node_modules/evil.*pfnm link'
}

allow_scripts() {
  CHANGE='printf "%s\n" "{\"allowScripts\":{\"scripted-b\":true}}" >package.extra.json; node "$HERE/lock.mjs" . ordinary@1.0.0; rm package.extra.json' \
    branch "$trust" allow
  stays_out "$trust" allow 'allowScripts'
}

git_dependency() {
  local source=$WORK/repos/dependency commit
  git init -q "$source"
  echo "{\"name\":\"from-git\",\"version\":\"1.0.0\",\"scripts\":{\"prepare\":\"touch '$(canary from-git)'\"}}" >"$source/package.json"
  must commit "$source" first
  commit=$(git -C "$source" rev-parse HEAD)
  branch "$trust" git-dep ordinary@1.0.0 "git:git+file://$source#$commit=from-git@1.0.0"
  branch "$trust" git-dep-next ordinary@2.0.0 "git:git+file://$source#$commit=from-git@1.0.0"
  is_approved_once "$trust" git-dep 'from-git@1\.0\.0.*pfnm link' git-dep-next
}

tarball_in_the_project() {
  local source=$WORK/source/local
  mkdir -p "$source/package"
  echo '{"name":"local","version":"1.0.0"}' >"$source/package/package.json"
  pack "$source" "$WORK/local-1.tgz"
  echo "{\"name\":\"local\",\"version\":\"1.0.0\",\"scripts\":{\"install\":\"touch '$(canary local)'\"}}" >"$source/package/package.json"
  pack "$source" "$WORK/local-2.tgz"
  CHANGE='mkdir tgz; cp "$WORK/local-1.tgz" tgz/local-1.0.0.tgz; node "$HERE/lock.mjs" . ordinary@1.0.0 file:tgz/local-1.0.0.tgz=local@1.0.0' \
    branch "$trust" tarball
  must git -C "$trust" worktree add -q "$trust-tarball-first" tarball
  must pfnm link "$trust-tarball-first"
  CHANGE='mkdir tgz; cp "$WORK/local-2.tgz" tgz/local-1.0.0.tgz; node "$HERE/lock.mjs" . ordinary@1.0.0 file:tgz/local-1.0.0.tgz=local@1.0.0' \
    branch "$trust" tarball-changed
  stays_out "$trust" tarball-changed 'local'
}

# Its package.json stays, what the script calls is another file.
directory_in_the_project() {
  local make='mkdir -p tools/local; echo "{\"name\":\"in-tree\",\"version\":\"1.0.0\",\"scripts\":{\"install\":\"sh run.sh\"}}" >tools/local/package.json'
  CHANGE="$make; echo 'exit 0' >tools/local/run.sh; node \"\$HERE/lock.mjs\" . ordinary@1.0.0 dir:tools/local=in-tree@1.0.0" branch "$trust" directory
  must git -C "$trust" worktree add -q "$trust-directory-first" directory
  run pfnm link "$trust-directory-first"
  CHANGE="$make; echo \"touch '\$(canary in-tree)'\" >tools/local/run.sh; node \"\$HERE/lock.mjs\" . ordinary@2.0.0 dir:tools/local=in-tree@1.0.0" branch "$trust" directory-changed
  clear_canaries
  run git -C "$trust" worktree add -q "$trust-directory-changed" directory-changed
  assert_equal "exit status of git" 0 "$CODE"
  assert_nothing_ran
}

root_scripts() {
  branch "$trust" root ordinary@6.0.0 "script:postinstall=touch '$(canary root)'" "script:prepare=touch '$(canary root)'"
  clear_canaries
  with_setting pfnm.rootScripts run git -C "$trust" worktree add -q "$trust-root" root
  assert_equal "exit status of git" 0 "$CODE"
  assert_nothing_ran
  assert_provisioned "$trust-root" ordinary 6.0.0
}

workspace_scripts() {
  CHANGE='mkdir -p packages/w
    echo "{\"name\":\"w\",\"version\":\"1.0.0\",\"scripts\":{\"postinstall\":\"touch $(canary workspace)\",\"prepare\":\"touch $(canary workspace)\"}}" >packages/w/package.json
    node -e "
      const fs = require(\"fs\"), read = (f) => JSON.parse(fs.readFileSync(f)), write = (f, v) => fs.writeFileSync(f, JSON.stringify(v, null, 2));
      const p = read(\"package.json\"), l = read(\"package-lock.json\");
      p.workspaces = l.packages[\"\"].workspaces = [\"packages/w\"];
      l.packages[\"node_modules/w\"] = { resolved: \"packages/w\", link: true };
      l.packages[\"packages/w\"] = { version: \"1.0.0\" };
      write(\"package.json\", p); write(\"package-lock.json\", l);"' branch "$trust" workspace ordinary@4.0.0
  clear_canaries
  run git -C "$trust" worktree add -q "$trust-workspace" workspace
  assert_equal "exit status of git" 0 "$CODE"
  assert_nothing_ran
  assert_provisioned "$trust-workspace" ordinary 4.0.0
}

# An approved script names programs; npm looks for those in node_modules/.bin first.
stolen_program() {
  branch "$trust" thief ordinary@1.0.0 scripted-a@1.0.0 bin-thief@1.0.0
  clear_canaries
  run git -C "$trust" worktree add -q "$trust-thief" thief
  assert_equal "exit status of git" 0 "$CODE"
  assert_absent "$(canary bin-thief)" "an ordinary package that no one approved ran its program"
}

committed_configuration() {
  CHANGE='printf "[pfnm]\n\thookBuild = always\n" >.pfnmconfig' branch "$trust" config ordinary@1.0.0 scripted-c@1.0.0
  clear_canaries
  run git -C "$trust" worktree add -q "$trust-config" config
  assert_equal "exit status of git" 0 "$CODE"
  assert_nothing_ran
  assert_absent "$trust-config/node_modules" "a committed pfnm.hookBuild"
}

hook_build_never() {
  branch "$trust" never ordinary@3.0.0
  with_setting pfnm.hookBuild never git -C "$trust" worktree add -q "$trust-never" never
  assert_refused 'pfnm link'
  assert_absent "$trust-never/node_modules" "pfnm.hookBuild=never"
}

hook_build_always() {
  branch "$trust" always ordinary@1.0.0 scripted-c@1.0.0
  with_setting pfnm.hookBuild always git -C "$trust" worktree add -q "$trust-always" always
  assert_equal "exit status of git" 0 "$CODE"
  assert_provisioned "$trust-always" ordinary 1.0.0
  [ -e "$(canary scripted-c)" ] || fail "pfnm.hookBuild=always did not run the script"
}

# --- patches ------------------------------------------------------------------------------------------------------------

patch_lock=("script:postinstall=patch-package" ordinary@1.0.0)
prepare_patched() {
  new_project "$patched" "${patch_lock[@]}" patch-package@1.0.0 helper@1.0.0
  mkdir "$patched/patches"
  echo one >"$patched/patches/ordinary+1.0.0.patch"
  commit "$patched" patches
  must pfnm link "$patched"
  [ -e "$(canary patch-package)" ] || fail "pfnm link did not call patch-package"
}

changed_patch() {
  CHANGE='echo two >patches/ordinary+1.0.0.patch' branch "$patched" changed
  CHANGE='echo two >patches/ordinary+1.0.0.patch' branch "$patched" changed-next "script:postinstall=patch-package" ordinary@2.0.0 patch-package@1.0.0 helper@1.0.0
  is_approved_once "$patched" changed 'patches.*pfnm link' changed-next
}

another_patch_package() {
  CHANGE='sed -i "s/\"1\.0\.1\"/\"1.0.0\"/" package.json package-lock.json' \
    branch "$patched" fake "${patch_lock[@]}" patch-package@1.0.1 helper@1.0.0
  stays_out "$patched" fake 'patch-package@1\.0\.0'
}

another_dependency_of_patch_package() {
  branch "$patched" helper "${patch_lock[@]}" patch-package@1.0.0 helper@2.0.0
  clear_canaries
  run git -C "$patched" worktree add -q "$patched-helper" helper
  assert_equal "exit status of git" 0 "$CODE"
  assert_absent "$(canary helper)" "code of an unapproved package ran inside patch-package"
}

stolen_patch_package() {
  branch "$patched" thief "${patch_lock[@]}" patch-package@1.0.0 helper@1.0.0 bin-thief@1.0.0
  clear_canaries
  run git -C "$patched" worktree add -q "$patched-thief" thief
  assert_equal "exit status of git" 0 "$CODE"
  assert_absent "$(canary bin-thief)" "an ordinary package ran in patch-package's place"
}

new_patch_package() {
  branch "$trust" patch-new "${patch_lock[@]}" patch-package@1.0.1
  stays_out "$trust" patch-new 'patch'
}

prepare "the first pfnm link approves what main has" prepare_trust
check "a branch that adds an ordinary package builds by itself" ordinary_builds
check "a package with an install script runs nothing until pfnm link, then hooks build with it" install_script
check ".npmrc git= runs nothing and is refused by pfnm link too" npmrc_program npmrc-git "git=$WORK/evil-program"
check ".npmrc script-shell= runs nothing and is refused by pfnm link too" npmrc_program npmrc-shell "script-shell=$WORK/evil-program"
check ".npmrc node-options= runs nothing and is refused by pfnm link too" npmrc_program npmrc-node "node-options=--require $WORK/evil.cjs"
check "another registry in .npmrc waits for pfnm link, then hooks build with it" npmrc_registry
check "a lock that hides an install script runs nothing" lock_without_has_install_script
check "a package with a binding.gyp that the lock hides runs nothing" lock_without_gyp
check "a package with a node_modules of its own runs nothing" package_in_a_package
check "another allowScripts runs nothing" allow_scripts
check "a git dependency runs nothing until pfnm link, then hooks build with it" git_dependency
check "a changed tarball inside the project runs nothing" tarball_in_the_project
check "a changed script in a directory inside the project runs nothing" directory_in_the_project
check "the project's own lifecycle scripts do not run in a hook" root_scripts
check "a workspace's lifecycle scripts do not run in a hook" workspace_scripts
check "an ordinary package cannot take the place of a program that an approved script calls" stolen_program
check "a committed .pfnmconfig cannot allow builds" committed_configuration
check "pfnm.hookBuild=never builds nothing" hook_build_never
check "pfnm.hookBuild=always builds what nobody approved" hook_build_always
prepare "pfnm link applies and approves the patches of main" prepare_patched
check "changed patches run nothing until pfnm link, then hooks build with them" changed_patch
check "a patch-package of another integrity runs nothing" another_patch_package
check "another version of a package that patch-package loads runs nothing" another_dependency_of_patch_package
check "an ordinary package cannot take the place of patch-package" stolen_patch_package
check "a branch that begins to use patch-package runs nothing" new_patch_package
export PFNM_STORE=$WORK/store
