# shellcheck shell=bash
# How people arrange their hooks: what husky 8 and 9, git-lfs and a hand leave in a repository.

# What husky 9 makes of `.husky/_` (its prepare script; git-ignored).
husky9_runner() { # DIRECTORY
  local hook
  mkdir -p "$1/.husky/_"
  echo '*' >"$1/.husky/_/.gitignore"
  cat >"$1/.husky/_/h" <<'END'
#!/usr/bin/env sh
[ "$HUSKY" = "2" ] && set -x
n=$(basename "$0")
s=$(dirname "$(dirname "$0")")/$n

[ ! -f "$s" ] && exit 0

if [ -f "$HOME/.huskyrc" ]; then
	echo "husky - '~/.huskyrc' is DEPRECATED, please move your code to ~/.config/husky/init.sh"
fi
i="${XDG_CONFIG_HOME:-$HOME/.config}/husky/init.sh"
[ -f "$i" ] && . "$i"

[ "${HUSKY-}" = "0" ] && exit 0

export PATH="node_modules/.bin:$PATH"
sh -e "$s" "$@"
c=$?

[ $c != 0 ] && echo "husky - $n script failed (code $c)"
[ $c = 127 ] && echo "husky - command not found in PATH=$PATH"
exit $c
END
  for hook in pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit applypatch-msg pre-applypatch \
    post-applypatch pre-rebase post-rewrite post-checkout post-merge pre-push pre-auto-gc; do
    # shellcheck disable=SC2016
    printf '#!/usr/bin/env sh\n. "$(dirname "$0")/h"' >"$1/.husky/_/$hook"
    chmod 0755 "$1/.husky/_/$hook"
  done
}

husky8_runner() { # DIRECTORY
  mkdir -p "$1/.husky/_"
  echo '*' >"$1/.husky/_/.gitignore"
  cat >"$1/.husky/_/husky.sh" <<'END'
#!/usr/bin/env sh
if [ -z "$husky_skip_init" ]; then
  debug () {
    if [ "$HUSKY_DEBUG" = "1" ]; then
      echo "husky (debug) - $1"
    fi
  }

  readonly hook_name="$(basename -- "$0")"
  debug "starting $hook_name..."

  if [ "$HUSKY" = "0" ]; then
    debug "HUSKY env variable is set to 0, skipping hook"
    exit 0
  fi

  if [ -f ~/.huskyrc ]; then
    debug "sourcing ~/.huskyrc"
    . ~/.huskyrc
  fi

  readonly husky_skip_init=1
  export husky_skip_init
  sh -e "$0" "$@"
  exitCode="$?"

  if [ $exitCode != 0 ]; then
    echo "husky - $hook_name hook exited with code $exitCode (error)"
  fi

  if [ $exitCode = 127 ]; then
    echo "husky - command not found in PATH=$PATH"
  fi

  exit $exitCode
fi
END
}

# A hook file in .git/hooks: hook_file DIRECTORY EVENT LINE...
hook_file() {
  local file=$1/.git/hooks/$2
  mkdir -p "$1/.git/hooks"
  shift 2
  printf '%s\n' '#!/bin/sh' "$@" >"$file"
  chmod 0755 "$file"
}

arrange() { # KIND DIRECTORY
  local event
  case $1 in
    none) ;;
    own-hook)
      for event in post-checkout post-merge post-rewrite; do
        # shellcheck disable=SC2016
        hook_file "$2" $event 'echo "own hook: $*" >&2'
      done
      ;;
    git-lfs)
      for event in post-checkout post-merge post-commit pre-push; do
        hook_file "$2" $event \
          "command -v git-lfs >/dev/null 2>&1 || { printf >&2 \"\\n%s\\n\\n\" \"This repository is configured for Git LFS but 'git-lfs' was not found on your path.\"; exit 2; }" \
          "git lfs $event \"\$@\""
      done
      # shellcheck disable=SC2016
      printf '%s\n' '#!/bin/sh' 'echo "lfs $*" >&2' >"$WORK/bin/git-lfs"
      chmod 0755 "$WORK/bin/git-lfs"
      ;;
    husky9 | husky9-off)
      husky9_runner "$2"
      echo 'echo "own husky hook" >&2' >"$2/.husky/post-checkout"
      git -C "$2" config core.hooksPath .husky/_
      ;;
    husky8)
      husky8_runner "$2"
      # shellcheck disable=SC2016
      printf '%s\n' '#!/usr/bin/env sh' '. "$(dirname -- "$0")/_/husky.sh"' '' 'echo "own husky hook" >&2' >"$2/.husky/pre-commit"
      chmod 0755 "$2/.husky/pre-commit"
      git -C "$2" config core.hooksPath .husky
      ;;
    tracked)
      mkdir -p "$2/.githooks"
      printf '%s\n' '#!/bin/sh' 'echo "own hook" >&2' >"$2/.githooks/post-checkout"
      chmod 0755 "$2/.githooks/post-checkout"
      git -C "$2" config core.hooksPath .githooks
      ;;
  esac
}
