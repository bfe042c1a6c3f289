#!/bin/sh
# Installed by `pfnm init`, taken away by `pfnm init --undo`. Gives a worktree its node_modules after a checkout.
# What was here before runs first; its exit status is the hook's.
status=0
if [ -x "$0.before-pfnm" ]; then
  "$0.before-pfnm" "$@" || status=$?
fi
pfnm=@PFNM@
[ -x "$pfnm" ] || pfnm=pfnm
command -v "$pfnm" >/dev/null 2>&1 && "$pfnm" hook "${0##*/}" "$@" </dev/null
exit "$status"
