#!/usr/bin/env bash
# The stage-b job of SGLang's AMD CI, for the registered tests of this repository, inside
# a ROCm SGLang container: splices the overlay into its SGLang, runs each suite as the
# job does, keeps what a reviewer asks for, and leaves SGLang as it was found.
set -euo pipefail

usage() {
  cat <<'EOF'
usage: scripts/ci/amd_stage_b.sh [options]

  --hardware         refuse to run without a gfx950
  --reference        run on the platform gfx950_reference, which stands in for a gfx950
                     on any CPU; the default where there is no ROCm GPU
  --suite NAME       run this suite alone; may be repeated (default: both suites that
                     this repository has tests for)
  --checkout FOLDER  test the SGLang of this checkout, by its own test/run_suite.py
                     (default: the installed SGLang, by the runner in its package)
  --artifacts FOLDER where logs, versions, flags and the graft's diff go
                     (default: results/stage_b)
  --python FILE      an interpreter that has SGLang and this repository's packages
                     (default: .venv/bin/python, set up first)

Exit status: 0 every file passed, 1 one did not, 2 nothing could be run.
EOF
}

refuse() {
  printf 'stage-b: %s\n' "$*" >&2
  exit 2
}

caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD

absolute() {
  case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s\n' "$caller/$1" ;;
  esac
}

mode=auto
suites=()
checkout=
artifacts=$root/results/stage_b
python=
while (($#)); do
  case $1 in
    --hardware | --reference)
      mode=${1#--}
      shift
      continue
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    --suite | --checkout | --artifacts | --python)
      (($# > 1)) || refuse "$1: expected a value. Next: see --help"
      ;;
    *) refuse "$1: expected an option. Next: see --help" ;;
  esac
  case $1 in
    --suite) suites+=("$2") ;;
    --checkout) checkout=$(absolute "$2") ;;
    --artifacts) artifacts=$(absolute "$2") ;;
    --python) python=$(absolute "$2") ;;
  esac
  shift 2
done
if ((${#suites[@]} == 0)); then
  suites=(stage-b-test-1-gpu-small-amd stage-b-test-1-gpu-small-amd-mi35x)
fi

if [[ -z $python ]]; then
  make setup || refuse "make setup failed. Next: read its message above"
  python=$root/.venv/bin/python
fi
[[ -x $python ]] || refuse "--python $python: expected an interpreter, found none"
# SGLang's runner starts `python3` and its server `sglang`.
PATH=$(dirname "$python"):$PATH
export PATH
if [[ -n $checkout ]]; then
  [[ -f $checkout/test/run_suite.py && -d $checkout/python/sglang ]] ||
    refuse "--checkout $checkout: expected test/run_suite.py and python/sglang in it"
  export PYTHONPATH=$checkout/python${PYTHONPATH:+:$PYTHONPATH}
fi

# As scripts/ci/amd/amd_ci_exec.sh of SGLang sets them for every job.
export SGLANG_IS_IN_CI=1 SGLANG_IS_IN_CI_AMD=1 SGLANG_USE_AITER=1
export SGLANG_ENABLE_ASYNC_ASSERT=0 SGLANG_SANITIZE_NAN_LOGITS=0

# Empty without a ROCm GPU; gfx950 may have features behind a colon.
architecture=$("$python" -c '
import torch
if torch.version.hip and torch.cuda.is_available():
    print(torch.cuda.get_device_properties(0).gcnArchName.split(":")[0])') ||
  refuse "torch cannot be imported by $python. Next: make env"
if [[ $mode == hardware && $architecture != gfx950 ]]; then
  refuse "--hardware: expected a gfx950, found ${architecture:-no ROCm GPU}." \
    "Next: start the container with /dev/kfd and /dev/dri, or leave --hardware out"
fi
if [[ $mode == reference || -z $architecture ]]; then
  export SGLANG_PLATFORM=gfx950_reference TRITON_INTERPRET=1
  echo "stage-b: platform gfx950_reference on this CPU, no GPU kernel runs"
else
  # aiter compiles what is missing, for these alone.
  export GPU_ARCHS=$architecture
  echo "stage-b: $architecture"
fi

scratch=$(mktemp -d)
grafted_here=
# shellcheck disable=SC2329  # the trap calls it
leave() {
  local status=$?
  rm -rf "$scratch"
  if [[ -n $grafted_here ]]; then
    "$python" -m sglang_graft revert || status=2
  fi
  exit "$status"
}
trap leave EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Away from this repository, as the files are when they are upstream.
mkdir "$scratch/test"
cp -r test/registered "$scratch/test/registered"
rm -f "$scratch/test/registered/conftest.py"
run=("$python" "$root/scripts/ci/run_registered.py" --folder registered)
if [[ -n $checkout ]]; then
  cp "$checkout/test/run_suite.py" "$scratch/test"
fi
cd "$scratch/test"
for suite in "${suites[@]}"; do
  # SGLang's run_suite.py passes if a suite has no test.
  "${run[@]}" --suite "$suite" --list >"$scratch/$suite.list" || exit 2
done

mkdir -p "$artifacts"
grafted_here=yes
if ! "$python" -m sglang_graft apply 2>&1 | tee "$artifacts/graft.txt"; then
  grafted_here=
  refuse "SGLang cannot be grafted. Next: make env, and docs/new-release.md"
fi
# A graft that was there before stays.
! grep -q '^already applied' "$artifacts/graft.txt" || grafted_here=
"$python" -m sglang_graft diff >"$artifacts/graft.diff"
"$python" "$root/scripts/show_env.py" >"$artifacts/env.md"

export SGLANG_TEST_METRICS_FILE=$artifacts/files.jsonl
: >"$SGLANG_TEST_METRICS_FILE"
: >"$artifacts/summary.txt"

outcome=0
for suite in "${suites[@]}"; do
  began=$SECONDS
  if [[ -n $checkout ]]; then
    command=(python3 run_suite.py --hw amd --suite "$suite" --timeout-per-file 1200
      --continue-on-error)
  else
    command=("${run[@]}" --suite "$suite")
  fi
  verdict=passed
  if ! "${command[@]}" 2>&1 | tee "$artifacts/$suite.log"; then
    verdict=failed
    outcome=1
  fi
  printf '%s: %s, %s file(s), %s s\n' "$suite" "$verdict" \
    "$(wc -l <"$scratch/$suite.list")" $((SECONDS - began)) | tee -a "$artifacts/summary.txt"
done
echo "stage-b: logs, env.md and graft.diff are in $artifacts"
exit "$outcome"
