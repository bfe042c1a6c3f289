#!/usr/bin/env bash
# Takes each guard of the GC out, one at a time, and shows that a test notices. A guard is a line of the source that
# ends in "// guard:NAME". Works on a copy: $PFNM_MUTANTS_DIR, which is kept for the next run, or else a
# scratch directory.
#
#   bash tests/mutants/run.sh [NAME...]      all guards, or these
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ -n "${PFNM_MUTANTS_DIR:-}" ]; then
  copy=$PFNM_MUTANTS_DIR
  mkdir -p "$copy"
  # What is in it is replaced: only a directory of this script's will do.
  if [ ! -e "$copy/mutants.log" ] && [ -n "$(ls -A "$copy")" ]; then
    echo "$copy is neither empty nor a former run's" >&2
    exit 2
  fi
else
  copy=$(mktemp -d "${TMPDIR:-/tmp}/pfnm-mutants-XXXXXX")
  trap 'rm -rf -- "$copy"' EXIT
  trap 'exit 130' INT TERM
fi
log=$copy/mutants.log
build=$copy/build/dev

# Of a guard: how its line is changed (a sed command), the test program and the tests that must notice. Where nothing
# else is said, the statement on the line is never reached.
never='s/^( *)/\1if (false) /'
describe() {
  change=$never
  program=integration_tests
  case $1 in
    live) tests=GcKeeps.WhatALiveWorktreeUses ;;
    unknown) tests=GcKeeps.WhatAWorktreeOnAnUnmountedVolumeUses ;;
    process) tests=GcKeeps.WhatAProcess\* ;;
    default-branch) tests=GcKeeps.WhatMainNeedsWhereThereIsNoRemote ;;
    lease) tests=GcKeeps.WhatIsLeased ;;
    build) tests=GcKeeps.WhatIsBeingBuilt ;;
    mount) program=unit_tests tests=Judge.EachThatKeepsKeepsAlone ;;
    directory) tests=GcReclaims.NoInstallThatSomethingElseHasTakenThePlaceOf ;;
    young)
      change='s/\}\);/}), reasons.pop_back();/' # the statement's last line
      tests=GcKeeps.WhatWasSealedUnderADayAgo
      ;;
    used) tests=GcKeeps.WhatWasUsedUnderADayAgo ;;
    blind)
      change='s/reasons\.push_back\(.*\);/judgement.verdict = Verdict::reclaim, reasons.push_back({});/'
      program=unit_tests tests=Judge.BlindReclaimsNothing
      ;;
    judge-again)
      change='s/judge_again\(name\)/planned.judgement/'
      tests=GcReclaims.NotWhatIsUsedByTheTimeThatItsTurnComes
      ;;
    worktrees) tests=GcKeeps.WhatAWorktreeElsewhereUsesWithoutARecord ;;
    roots) tests=GcKeeps.WhatACopy\* ;;
    unreadable-directory) tests=GcKeeps.EverythingWhereADirectoryUnderARootCanBeEnteredButNotListed ;;
    unreadable-root) tests=GcKeeps.EverythingWhereARootCannotBeReached ;;
    unmounted)
      change='s/return .*;/return Absence::gone;/'
      tests=GcKeeps.WhatAWorktreeOnAnUnmountedVolumeUses
      ;;
    plain-file)
      change='s/return .*;/return Marker{};/'
      tests=GcKeeps.WhatAnOlderHelpersPlainFileNames
      ;;
    window)
      change='s/return .*;/return true;/'
      tests=GcCommand.OutsideTheWindowNothingIsDoneAndItSaysWhen
      ;;
    *) return 1 ;;
  esac
}

marks='// guard:[a-z-]+$'
guards() { grep -rhoE "$marks" "$root/nmstore" "$root/cli" | sed 's/.*guard://' | sort; }

# Files keep their times, so that a second run builds only what differs; what a run may have changed is built anew.
copy_sources() {
  find "$copy" -mindepth 1 -maxdepth 1 ! -name build ! -name mutants.log -exec rm -rf {} +
  (cd "$root" && git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf -) | tar -xf - -C "$copy"
  (cd "$copy" && grep -rlE "$marks" nmstore cli) | sed "s|^|$copy/|" | xargs touch
}

compile() { cmake --build "$build" --target "$@" >>"$log" 2>&1; }
run_tests() { "$build/bin/$1" --gtest_filter="$2" --gtest_brief=1 >"$copy/mutants.out" 2>&1; }
noticed_by() {
  sed -nE 's/^\[  FAILED  \] ([A-Za-z0-9_]+\.[A-Za-z0-9_]+).*/\1/p' "$copy/mutants.out" | sort -u | head -n 1
}

failed=0
complain() {
  echo "FAILED guard:$1: $2"
  failed=1
}

# Without a mutation, all of them pass.
check_tests() {
  local guard
  declare -A filters=()
  for guard in "$@"; do
    if describe "$guard"; then filters[$program]+=$tests:; fi
  done
  for program in "${!filters[@]}"; do
    run_tests "$program" "${filters[$program]}" && continue
    cat "$copy/mutants.out"
    echo "these tests fail with every guard in its place"
    exit 1
  done
}

try_guard() {
  local guard=$1 file by
  describe "$guard" || { complain "$guard" "this script does not know it"; return; }
  file=$(cd "$root" && grep -rlE "// guard:$guard\$" nmstore cli) || { complain "$guard" "no line has it"; return; }
  if [ "$(wc -l <<<"$file")" != 1 ] || [ "$(grep -cE "// guard:$guard\$" "$root/$file")" != 1 ]; then
    complain "$guard" "it stands in more than one place"
    return
  fi
  sed -i -E "\\|// guard:$guard\$|{$change}" "$copy/$file"
  if cmp -s "$root/$file" "$copy/$file"; then
    complain "$guard" "its line is not changed by $change"
  elif ! compile "$program"; then
    complain "$guard" "it does not compile without it: see $log"
    tail -n 20 "$log"
  elif run_tests "$program" "$tests"; then
    complain "$guard" "$tests does not notice"
  else
    by=$(noticed_by)
    if [ -n "$by" ]; then echo "ok guard:$guard noticed by $by"; else complain "$guard" "no test ran to its end"; fi
  fi
  cp "$root/$file" "$copy/$file"
}

copy_sources
: >"$log"
(cd "$copy" && cmake --preset dev) >>"$log" 2>&1
compile unit_tests integration_tests || { tail -n 30 "$log"; exit 1; }
mapfile -t all < <(guards)
[ "${#all[@]}" -gt 0 ] || { echo "no guard was found"; exit 1; }
if [ $# -gt 0 ]; then all=("$@"); fi
check_tests "${all[@]}"
for guard in "${all[@]}"; do try_guard "$guard"; done
exit "$failed"
