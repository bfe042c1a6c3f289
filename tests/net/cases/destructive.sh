# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154
# Commands that rewrite or delete node_modules, in a linked worktree: the install stays as it is, byte for byte, and the
# next link heals. As an unprivileged user with a store of its own, and as root where more than mode bits holds it back.

USER_ID=54321

# store_state STORE: one line for every entry of the installs and the objects; what they contain is verify's part.
# (A seal is rewritten when its install has reached the disk.)
store_state() {
  find "$1" \( -path "$1/.pf/*" -a ! -path "$1/.pf/objects*" \) -prune -o \
    -mindepth 1 ! -path "$1/.pf" -printf '%P %y %m %s %T@ %i %l\n' | sort
}

same_store() {
  diff "$1" "$2" | head -n 20
  cmp -s "$1" "$2"
}

as_self() {
  "$@"
}

as_user() {
  local with_home=(env HOME="$WORK/user/home" npm_config_cache="$WORK/user/npm-cache" PFNM_STORE="$WORK/user/store"
    TMPDIR="$WORK/user/tmp" "$@")
  if is_root; then
    setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups "${with_home[@]}"
  else
    "${with_home[@]}"
  fi
}

# A home, a copy of npm's cache and of the repository for the user: everything that it works in is its own.
make_user() {
  [ -e "$WORK/user/exp-repo/main/.git" ] && return
  mkdir -p "$WORK/user/home" "$WORK/user/tmp" "$WORK/user/npm-cache" "$WORK/user/exp-repo"
  cp "$HOME"/.gitconfig "$WORK/user/home/"
  [ -e "$HOME/.npmrc" ] && cp "$HOME/.npmrc" "$WORK/user/home/"
  [ -d "$npm_config_cache/_cacache" ] && cp -r "$npm_config_cache/_cacache" "$WORK/user/npm-cache/"
  copy_project exp-repo "$WORK/user/exp-repo/main"
  if is_root; then
    chmod 0711 "$WORK"
    chown -R "$USER_ID:$USER_ID" "$WORK/user"
  fi
  as_user git -C "$WORK/user/exp-repo/main" init -q &&
    as_user git -C "$WORK/user/exp-repo/main" add -A &&
    as_user git -C "$WORK/user/exp-repo/main" commit -qm project
}

# healed WHO TREE: links again, intact, and the program of the project runs.
healed() {
  local who=$1 tree=$2
  same_text '"intact":true' "$("$who" "$PFNM" status --json "$tree" | grep -o '"intact":[a-z]*')" || return 1
  [ -L "$tree/node_modules/ms" ] && [ -L "$tree/node_modules/.pf-shared" ] || return 1
  in_dir "$tree" "$who" node cjs.js || return 1
  if [ -e "$tree/packages/a" ]; then
    in_dir "$tree" "$who" npx --no -- acme-a || return 1
  fi
  same_text "" "$(in_dir "$tree" "$who" git status --porcelain)"
}

heal() {
  local who=$1 tree=$2 wanted=$3
  # A lock that the command changed is another install; the commit's own is put back.
  in_dir "$tree" "$who" git checkout -q -- . && in_dir "$tree" "$who" git clean -fdq || return 1
  exits "$wanted" "$who" "$PFNM" link "$tree" || return 1
  if [ "$wanted" -ne 0 ]; then
    exits 0 "$who" "$PFNM" link --force "$tree" || return 1
  fi
  healed "$who" "$tree"
}

# destructive WHO LABEL BASE STORE LINK-EXIT NAME COMMAND: LINK-EXIT is what the next link answers (6: refused without
# --force, - : there is no worktree left).
destructive() {
  local who=$1 label=$2 base=$3 store=$4 link_exit=$5 name=$6 command=$7 tree code=0
  local before=$LOGS/$2-$6-before after=$LOGS/$2-$6-after
  tree=$base/break-$name
  check "$label/$name/linked" destructive_link "$who" "$base" "$tree" || return
  store_state "$store" >"$before"
  (cd "$tree" && "$who" sh -c "$command") >"$LOGS/$label-$name-command.log" 2>&1 </dev/null || code=$?
  store_state "$store" >"$after"
  check "$label/$name/install-untouched (the command ended with $code)" same_store "$before" "$after"
  check "$label/$name/verify-all" "$who" "$PFNM" install verify --all
  if [ "$link_exit" = - ]; then
    check "$label/$name/worktree-gone" [ ! -e "$tree" ]
  else
    TAIL=6 check "$label/$name/next-link-heals" heal "$who" "$tree" "$link_exit"
  fi
  "$who" rm -rf "$tree"
  in_dir "$base/main" "$who" git worktree prune
}

destructive_link() {
  in_dir "$2/main" "$1" git worktree add -q --detach "$3" && "$1" "$PFNM" link "$3"
}

destructive_commands() {
  destructive "$@" 0 npm-install 'npm install left-pad'
  destructive "$@" 6 npm-ci 'npm ci'
  destructive "$@" 0 npm-prune 'npm prune'
  destructive "$@" 0 rm-rf 'rm -rf node_modules'
  destructive "$@" 0 chmod 'chmod -R u+w node_modules'
  destructive "$@" 0 git-clean 'git clean -fdxq'
  # shellcheck disable=SC2016 # expanded by the inner shell
  destructive "$@" - worktree-remove 'tree=$PWD; cd ../main && git worktree remove --force "$tree"'
}

# Where every package is a direct dependency, npm meets nothing that stops it half way: what it takes for the project's
# own it deletes.
small_project() {
  local who=$1 base=$2
  "$who" mkdir -p "$base/main" || return 1
  "$who" sh -c 'cd "$1" && echo node_modules >.gitignore &&
    echo "{\"name\":\"small\",\"version\":\"1.0.0\",\"dependencies\":{\"ms\":\"2.1.3\",\"semver\":\"7.6.0\"}}" >package.json &&
    echo "console.log(require(\"semver\").valid(\"1.2.3\"))" >cjs.js &&
    npm install --package-lock-only && git init -q && git add -A && git commit -qm small' sh "$base/main"
}

destructive_small() {
  local who=$1 label=$2 base=$3
  check "$label/small-project" small_project "$who" "$base" || return
  destructive "$@" 0 npm-install 'npm install left-pad'
  destructive "$@" 0 npm-install-bare 'npm install'
  destructive "$@" 0 npm-prune 'npm prune'
  destructive "$@" 0 npm-uninstall 'npm uninstall ms'
  destructive "$@" 6 npm-ci 'npm ci'
}

# An install with a package gone is not linked as if it were whole: mended, or an error.
hollow_install() {
  local tree=$WORK/exp-repo/hollow install code=0
  destructive_link as_self "$WORK/exp-repo" "$tree" || return 1
  install=$(install_of "$tree")
  rm -rf "$tree/node_modules"
  chmod u+w "$install/node_modules" && chmod -R u+w "$install/node_modules/lodash" && rm -rf "$install/node_modules/lodash"
  "$PFNM" link "$tree" || code=$?
  echo "link ended with $code"
  [ "$code" -ne 0 ] || in_dir "$tree" node cjs.js
}

case_destructive() {
  have_project exp-repo || {
    skip destructive "not in the corpus"
    return
  }
  if is_root && ! command -v setpriv >/dev/null; then
    skip destructive "no setpriv to become an unprivileged user"
    return
  fi
  check destructive/user make_user || return
  destructive_commands as_user destructive "$WORK/user/exp-repo" "$WORK/user/store"
  destructive as_user destructive "$WORK/user/exp-repo" "$WORK/user/store" 0 npm-rebuild 'npm rebuild'
}

# Root's `npm rebuild` is the one command here that nothing holds back: npm works through the links and mode bits stop
# nobody. It has to be found, not believed: in a store of its own, because it is spoilt afterwards.
rebuild_as_root() {
  local tree=$WORK/exp-repo/rebuild code=0
  destructive_link as_self "$WORK/exp-repo" "$tree" || return 1
  in_dir "$tree" npm rebuild || return 1
  "$PFNM" install verify --all || code=$?
  echo "verify ended with $code"
  same_text 1 "$code"
}

case_destructive_small() {
  have_project exp-repo || {
    skip destructive-small "not in the corpus"
    return
  }
  if is_root; then
    PFNM_STORE=$WORK/small-store destructive_small as_self destructive-small-root "$WORK/small" "$WORK/small-store"
    command -v setpriv >/dev/null || {
      skip destructive-small "no setpriv to become an unprivileged user"
      return
    }
  fi
  check destructive-small/user make_user || return
  destructive_small as_user destructive-small "$WORK/user/small" "$WORK/user/store"
}

case_destructive_root() {
  if ! is_root; then
    skip destructive-root "not root"
    return
  fi
  have_project exp-repo || {
    skip destructive-root "not in the corpus"
    return
  }
  repository exp-repo
  destructive_commands as_self destructive-root "$WORK/exp-repo" "$PFNM_STORE"
  PFNM_STORE=$WORK/spoilt-store check destructive-root/npm-rebuild-is-found-by-verify rebuild_as_root
  drop_worktree exp-repo rebuild
  rm -rf "$WORK/spoilt-store"
  PFNM_STORE=$WORK/spoilt-store check destructive-root/hollow-install-is-not-believed hollow_install
  drop_worktree exp-repo hollow
}
