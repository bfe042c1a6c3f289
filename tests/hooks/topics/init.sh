# shellcheck shell=bash
# pfnm init finds the place where git really runs hooks, and --undo brings back exactly what was there.

export PFNM_STORE=$WORK/store-init
# husky9_runner, husky8_runner, hook_file and the like are shared with the operations.
# shellcheck source=tests/hooks/arrangements.sh
. "$HERE/arrangements.sh"

# Types, modes, links and bytes of everything but git's objects and index, whose stat data may be refreshed.
state_of() {
  (
    cd "$1" || exit 1
    find . -path ./.git/objects -prune -o -path ./.git/index -prune -o -printf '%P %y %m %l\n' | sort
    find . -path ./.git/objects -prune -o -path ./.git/index -prune -o -type f -exec sha256sum {} + | sort -k 2
  )
}

assert_state() { # WHAT BEFORE DIRECTORY
  local now
  now=$(state_of "$3")
  [ "$2" = "$now" ] || fail "$1: $(diff <(printf '%s\n' "$2") <(printf '%s\n' "$now") | grep '^[<>]')"
}

fixture() { # KIND DIRECTORY
  local hooks=$2/.git/hooks
  new_repository "$2"
  cp "$WORK/init-lock/"* "$2/"
  rm -rf "$hooks"
  case $1 in
    no-directory) ;;
    empty) mkdir "$hooks" ;;
    samples)
      mkdir "$hooks"
      for event in post-update pre-commit; do printf '#!/bin/sh\nexit 0\n' >"$hooks/$event.sample" && chmod 0755 "$hooks/$event.sample"; done
      ;;
    own) hook_file "$2" post-checkout 'echo own' ;;
    odd-bytes)
      mkdir "$hooks"
      printf '#!/bin/sh\r\necho "\303\251"' >"$hooks/post-checkout"
      chmod 0700 "$hooks/post-checkout"
      printf '' >"$hooks/post-merge"
      ;;
    not-executable)
      hook_file "$2" post-checkout 'echo own'
      chmod 0644 "$hooks/post-checkout"
      ;;
    symlink)
      mkdir -p "$hooks" "$2/tools"
      printf '#!/bin/sh\necho own\n' >"$2/tools/hook.sh"
      chmod 0755 "$2/tools/hook.sh"
      ln -s ../../tools/hook.sh "$hooks/post-checkout"
      ln -s ../../tools/gone.sh "$hooks/post-merge"
      ;;
    read-only)
      hook_file "$2" post-checkout 'echo own'
      chmod 0555 "$hooks/post-checkout"
      ;;
    git-lfs) arrange git-lfs "$2" ;;
    husky9) arrange husky9 "$2" && rm "$2/.husky/post-checkout" ;;
    husky9-own)
      arrange husky9 "$2"
      printf 'npm run check' >"$2/.husky/post-checkout"
      printf '#!/bin/sh\necho merged\n' >"$2/.husky/post-merge"
      chmod 0755 "$2/.husky/post-merge"
      : >"$2/.husky/post-rewrite"
      ;;
    husky9-symlink)
      arrange husky9 "$2"
      mkdir -p "$2/tools"
      mv "$2/.husky/post-checkout" "$2/tools/checkout"
      ln -s ../tools/checkout "$2/.husky/post-checkout"
      ;;
    husky8) arrange husky8 "$2" ;;
    husky8-own)
      arrange husky8 "$2"
      # shellcheck disable=SC2016
      printf '%s\n' '#!/usr/bin/env sh' '. "$(dirname -- "$0")/_/husky.sh"' '' 'npm install' >"$2/.husky/post-merge"
      chmod 0755 "$2/.husky/post-merge"
      ;;
    tracked) arrange tracked "$2" ;;
    absolute)
      mkdir -p "$2-hooks"
      git -C "$2" config core.hooksPath "$2-hooks"
      ;;
    odd-config)
      printf '# a comment\n[pfnm]\n\twritable = a\n[hook "mine"]\n\tcommand = true\n   [alias]\n st = status ; x\n' >>"$2/.git/config"
      ;;
    no-ignore) rm "$2/.gitignore" ;;
    no-ignore-no-info)
      rm "$2/.gitignore"
      rm -rf "$2/.git/info"
      ;;
  esac
}

comes_back() { # KIND
  local repo=$WORK/repos/init-$1 before after
  fixture "$1" "$repo"
  before=$(state_of "$repo")
  run pfnm init "$repo"
  if [ "$1" = tracked ] || [ "$1" = absolute ]; then
    assert_equal "exit code of init" 6 "$CODE"
    assert_match "what init says" 'core\.hooksPath is' "$ERR"
    assert_state "after a refusal" "$before" "$repo"
  elif [ "$1" = husky9-symlink ] && [ "$CODE" = 6 ]; then # a script that is somebody's may be named instead
    assert_match "what init says" 'post-checkout' "$ERR"
    assert_state "after a refusal" "$before" "$repo"
  else
    assert_equal "exit code of init" 0 "$CODE"
    [ "$before" != "$(state_of "$repo")" ] || fail "init changed nothing"
  fi
  run pfnm init --undo "$repo"
  assert_equal "exit code of init --undo" 0 "$CODE"
  assert_state "after init and --undo" "$before" "$repo"
  # Twice is once.
  run pfnm init "$repo"
  after=$(state_of "$repo")
  run pfnm init "$repo"
  assert_state "after a second init" "$after" "$repo"
  run pfnm init --undo "$repo"
  assert_state "after init, init and --undo" "$before" "$repo"
  run pfnm init --undo "$repo"
  assert_equal "exit code of a second --undo" 0 "$CODE"
  assert_state "after a second --undo" "$before" "$repo"
}

edited_hook() {
  local repo=$WORK/repos/init-edited edited
  fixture own "$repo"
  must pfnm init "$repo"
  must sed -i '2i echo mine' "$repo/.git/hooks/post-checkout"
  edited=$(sha256sum <"$repo/.git/hooks/post-checkout")
  run pfnm init --undo "$repo"
  assert_match "what --undo says" 'hooks/post-checkout was changed after init' "$ERR"
  assert_equal "the edited hook" "$edited" "$(sha256sum <"$repo/.git/hooks/post-checkout")"
  assert_equal "what the edited hook chains to" 0 "$([ -x "$repo/.git/hooks/post-checkout.before-pfnm" ]; echo $?)"
  assert_absent "$repo/.git/hooks/post-merge" "a hook that was not edited"
  assert_absent "$repo/.git/hooks/post-rewrite" "a hook that was not edited"
  run "$repo/.git/hooks/post-checkout"
  assert_match "the edited hook" 'mine.*own' "$(tr '\n' ' ' <<<"$OUT")"
}

edited_husky_hook() {
  local repo=$WORK/repos/init-edited-husky
  fixture husky9-own "$repo"
  must pfnm init "$repo"
  echo 'echo mine' >>"$repo/.husky/post-checkout"
  run pfnm init --undo "$repo"
  assert_match "what --undo says" '\.husky/post-checkout was changed after init' "$ERR"
  assert_match "the edited hook" 'echo mine' "$(cat "$repo/.husky/post-checkout")"
  assert_equal "the hook that was not edited" "$(printf '#!/bin/sh\necho merged\n')" "$(cat "$repo/.husky/post-merge")"
}

removed_hook() {
  local repo=$WORK/repos/init-removed
  fixture empty "$repo"
  must pfnm init "$repo"
  must rm "$repo/.git/hooks/post-merge"
  run pfnm init --undo "$repo"
  assert_equal "exit code of --undo" 0 "$CODE"
  assert_absent "$repo/.git/hooks/post-checkout" "a hook of ours"
  assert_absent "$repo/.git/hooks/post-merge" "a hook that the user removed"
}

# The name that a chained hook gets is taken: init cannot finish, and says so; nothing of the user's is lost.
name_is_taken() {
  local repo=$WORK/repos/init-taken before
  fixture own "$repo"
  hook_file "$repo" post-merge 'echo merge'
  hook_file "$repo" post-merge.before-pfnm 'echo somebody'
  before=$(state_of "$repo")
  run pfnm init "$repo"
  [ "$CODE" != 0 ] || fail "init went over post-merge.before-pfnm"
  assert_match "what init says" 'before-pfnm' "$ERR"
  run pfnm init --undo "$repo"
  assert_state "after an init that did not finish, and --undo" "$before" "$repo"
}

from_a_linked_worktree() {
  local repo=$WORK/repos/init-linked before
  fixture own "$repo"
  commit "$repo" first
  must git -C "$repo" worktree add -q "$repo-w"
  before=$(state_of "$repo")
  must pfnm init "$repo-w"
  run pfnm init "$repo"
  assert_match "what a second init says" 'already there' "$OUT"
  run pfnm init --undo "$repo"
  assert_state "after init in a linked worktree and --undo in main" "$before" "$repo"
}

# git from 2.54 on has hooks in its configuration. Where there is none so new, its documented behaviour is what init
# works by: here a git that only says that it is.
configuration_hooks() {
  local repo=$WORK/repos/init-configuration before git
  git=$(command -v git)
  mkdir -p "$WORK/new-git"
  printf '%s\n' '#!/bin/sh' "case \"\$*\" in *--version) echo 'git version 2.54.0';; *) exec '$git' \"\$@\";; esac" >"$WORK/new-git/git"
  chmod 0755 "$WORK/new-git/git"
  fixture "$1" "$repo-$1"
  before=$(state_of "$repo-$1")
  run env PATH="$WORK/new-git:$PATH" pfnm init "$repo-$1"
  assert_equal "exit code of init" 0 "$CODE"
  for event in post-checkout post-merge post-rewrite; do
    assert_equal "hook.pfnm-$event.event" $event "$(git -C "$repo-$1" config "hook.pfnm-$event.event")"
    assert_match "hook.pfnm-$event.command" "pfnm'? hook $event\$" "$(git -C "$repo-$1" config "hook.pfnm-$event.command")"
  done
  run env PATH="$WORK/new-git:$PATH" pfnm init --undo "$repo-$1"
  assert_equal "exit code of --undo" 0 "$CODE"
  assert_state "after init and --undo" "$before" "$repo-$1"
}

program_with_odd_path() {
  local repo=$WORK/repos/init-odd-path odd="$WORK/it's a \"place\" \$x"
  mkdir -p "$odd/bin" "$odd/libexec/pfnm"
  cp "$PFNM" "$odd/bin/pfnm"
  cp "$(dirname "$PFNM")/../libexec/pfnm/pfnm-main" "$odd/libexec/pfnm/"
  fixture empty "$repo"
  must "$odd/bin/pfnm" init "$repo"
  PATH=$(printf '%s' "$PATH" | sed "s#$WORK/bin:##") run git -C "$repo" -c user.name=x commit -q --allow-empty -m x
  run env PATH="$(printf '%s' "$PATH" | sed "s#$WORK/bin:##")" PFNM_STORE="$WORK/store-file-2" git -C "$repo" checkout -q -b other
  assert_equal "exit status of git" 0 "$CODE"
  assert_match "the hook's line" '^pfnm: ' "$ERR"
}

not_a_repository() {
  mkdir -p "$WORK/repos-none"
  run pfnm init "$WORK/repos-none"
  [ "$CODE" != 0 ] || fail "init outside a repository ended with 0"
  assert_equal "what is there" "" "$(ls -A "$WORK/repos-none")"
}

mkdir -p "$WORK/init-lock"
write_lock "$WORK/init-lock" ordinary@1.0.0
echo text >"$WORK/store-file-2"
while read -r kind words; do
  check "init and --undo: $words" comes_back "$kind"
done <<'END'
no-directory no hooks directory at all
empty an empty hooks directory
samples git's samples
own an own hook
odd-bytes a hook with CRLF, without a last newline, mode 0700, and an empty one
not-executable a hook that is not executable
symlink hooks that are symlinks, one of them dangling
read-only a hook that is not writable
git-lfs git-lfs's hooks
husky9 husky 9 without hooks of these names
husky9-own husky 9 with hooks of these names, one of them empty
husky9-symlink husky 9 with a hook that is a symlink
husky8 husky 8 without hooks of these names
husky8-own husky 8 with a hook of one of these names
tracked a tracked hooksPath is named, and nothing is written
absolute an absolute hooksPath is named, and nothing is written
odd-config a configuration with comments and odd spaces
no-ignore a repository that does not ignore node_modules
no-ignore-no-info a repository that does not ignore node_modules and has no info directory
END
check "--undo names a hook that was edited after init, leaves it working, and takes the others away" edited_hook
check "--undo names a husky hook that was edited after init, and restores the others" edited_husky_hook
check "--undo goes on where the user removed a hook of ours" removed_hook
check "init that finds the name for a chained hook taken says so, and --undo restores" name_is_taken
check "init in a linked worktree is undone from the main checkout" from_a_linked_worktree
check "git 2.54 by its word: init and --undo of configuration hooks" configuration_hooks empty
check "git 2.54 by its word: init and --undo of configuration hooks beside odd configuration" configuration_hooks odd-config
check "git 2.54 by its word: init and --undo of configuration hooks beside husky 9" configuration_hooks husky9
check "a pfnm in a directory with quotes, blanks and a dollar is called by the hook" program_with_odd_path
check "init outside a repository writes nothing" not_a_repository
export PFNM_STORE=$WORK/store
