# shellcheck shell=bash
# shellcheck disable=SC2154
# Next.js and Vite with the helper of hooks/frameworks, used as docs/guide.md says, and without it: in a worktree beside
# the main checkout and in one below it. The projects are tests/net/projects; their fonts come from a package.
# Vite is 8.3.8: 8.4.0 names an optional package that the registry here did not have, and npm ci refuses such a lock.

FONTS=node_modules/@fontsource/vt323/files
LIMIT=300
export NEXT_TELEMETRY_DISABLED=1

# framework_repository NAME: the project with the helper committed, its main checkout and two worktrees linked.
framework_repository() {
  local name=$1 main=$WORK/$1/main tree
  mkdir -p "$main" || return 1
  cp -r "$HERE/projects/$name/." "$main" && cp -r "$ROOT/hooks/frameworks" "$main/pfnm-frameworks" || return 1
  printf '%s\n' node_modules .next dist .worktrees >"$main/.gitignore"
  git -C "$main" init -q && git -C "$main" add -A && git -C "$main" commit -qm "$name" || return 1
  git -C "$main" worktree add -q --detach "$(framework_tree "$name" beside)" || return 1
  git -C "$main" worktree add -q --detach "$(framework_tree "$name" below)" || return 1
  for tree in "$main" "$(framework_tree "$name" beside)" "$(framework_tree "$name" below)"; do
    "$PFNM" link "$tree" || return 1
  done
}

framework_tree() {
  case $2 in
    beside) echo "$WORK/$1/beside" ;;
    below) echo "$WORK/$1/main/.worktrees/below" ;;
  esac
}

free_port() {
  node -e 'const server = require("net").createServer().listen(0, "127.0.0.1", () => {
             console.log(server.address().port); server.close(); })'
}

# build TREE COMMAND...: with node_modules/.bin in front, within LIMIT seconds.
build() {
  local tree=$1 code=0
  shift
  start_group "$tree" "$@"
  wait "$group" || code=$?
  end_group && [ "$code" -eq 0 ] || {
    echo "ended with $code: $*"
    return 1
  }
}

# serves TREE TEXT COMMAND...: the server (given --port) has the page with TEXT and everything that the page names; then
# it is ended.
serves() {
  local tree=$1 text=$2 port reader code=0
  shift 2
  port=$(free_port) || return 1
  start_group "$tree" "$@" --port "$port"
  node "$HERE/page.mjs" "http://127.0.0.1:$port/" "$text" "$tree/$FONTS" "$LIMIT" &
  reader=$!
  wait "$reader" || code=$?
  end_group || return 1
  [ "$code" -eq 0 ]
}

# fails_with TEXT COMMAND...: the control. It fails, and for the reason that the helper is there for.
fails_with() {
  local text=$1 log=$LOGS/fails-with.txt
  shift
  if "$@" >"$log" 2>&1; then
    cat "$log"
    echo "passes without the helper"
    return 1
  fi
  cat "$log"
  grep -q -e "$text" "$log" || {
    echo "failed, but not with: $text"
    return 1
  }
}

# However Next is started: `next build DIRECTORY` leaves the current directory as it is.
widened_root() {
  same_text "$WORK" "$(in_dir / node -p "require('$1/next.config.js').turbopack.root")"
}

# A private copy below a linked main checkout is none of the helper's business.
private_needs_nothing() {
  local tree=$1
  "$PFNM" private "$tree" && same_text null "$(in_dir "$tree" node -p "require('./pfnm-frameworks').findInstall()")" || return 1
  git -C "$tree" checkout -q -- vite.config.mjs && serves "$tree" net-vite vite dev --strictPort --host 127.0.0.1
}

same_as_committed() {
  git_clean "$1" && status_intact "$1"
}

case_next() {
  local text='two days are 172800000 ms' place bundler tree
  check next/linked framework_repository next || return
  for place in beside below; do
    tree=$(framework_tree next "$place")
    for bundler in webpack turbopack; do
      rm -rf "$tree/.next"
      check "next/$place/$bundler/build" build "$tree" next build "--$bundler" &&
        check "next/$place/$bundler/start" serves "$tree" "$text" next start --hostname 127.0.0.1
      rm -rf "$tree/.next"
      check "next/$place/$bundler/dev" serves "$tree" "$text" next dev "--$bundler" --hostname 127.0.0.1
    done
    check "next/$place/root-from-elsewhere" widened_root "$tree"
    check "next/$place/unchanged" same_as_committed "$tree"

    # Without the helper. Webpack does not fail: nothing to assert.
    rm -rf "$tree/.next"
    echo "module.exports = {}" >"$tree/next.config.js"
    check "next/$place/turbopack/build-without-helper-fails" fails_with "next/package.json" build "$tree" next build --turbopack
    rm -rf "$tree/.next"
    check "next/$place/turbopack/dev-without-helper-fails" fails_with "next/package.json" \
      serves "$tree" "$text" next dev --turbopack --hostname 127.0.0.1
  done
  check next/verify-all "$PFNM" install verify --all
}

case_vite() {
  local place tree
  check vite/linked framework_repository vite || return
  for place in beside below; do
    tree=$(framework_tree vite "$place")
    check "vite/$place/build" build "$tree" vite build &&
      check "vite/$place/preview" serves "$tree" net-vite vite preview --strictPort --host 127.0.0.1
    check "vite/$place/dev" serves "$tree" net-vite vite dev --strictPort --host 127.0.0.1
    check "vite/$place/unchanged" same_as_committed "$tree"

    # Without the helper. `vite build` does not fail: nothing to assert.
    echo "export default {}" >"$tree/vite.config.mjs"
    check "vite/$place/dev-without-helper-is-refused-the-font" fails_with "^font 403" \
      serves "$tree" net-vite vite dev --strictPort --host 127.0.0.1
  done
  check vite/below/private-copy-needs-nothing private_needs_nothing "$tree"
  check vite/verify-all "$PFNM" install verify --all
}
