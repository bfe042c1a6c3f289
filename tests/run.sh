#!/usr/bin/env bash
# Installs what is needed, builds and runs all tests. Ends with ctest's summary.
#
#   bash tests/run.sh [CTEST-ARGUMENTS...]     e.g. -L unit, -LE net, -R links
#
# PFNM_PRESET chooses the build (release). Tests labelled `net` need a registry and ../shared/corpus (or PFNM_CORPUS);
# where either is missing they are skipped and say so.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
# shellcheck source=.ci/packages
. .ci/packages
.ci/install-packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}"

preset=${PFNM_PRESET:-release}
if [ -z "${PFNM_CORPUS:-}" ] && [ -d "$here/../shared/corpus" ]; then
  PFNM_CORPUS=$(cd "$here/../shared/corpus" && pwd)
  export PFNM_CORPUS
fi
cmake --preset "$preset" -DPFNM_BUILD_TESTS=ON >/dev/null
cmake --build --preset "$preset"
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" "$@"
