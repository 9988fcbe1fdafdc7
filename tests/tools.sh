#!/usr/bin/env bash
# The program weft, as a user calls it: tools.sh PROGRAM SCRATCH
set -uo pipefail
program=$1 scratch=$2 failed=0
mkdir -p "$scratch"

expect() { # STATUS TEXT ARGUMENT...: exit status, and a text that the output has
  local wanted=$1 text=$2 output status=0
  shift 2
  output=$("$program" "$@" 2>&1) || status=$?
  if [[ $status != "$wanted" || $output != *"$text"* ]]; then
    printf 'weft %s: status %s, wanted %s and "%s" in:\n%s\n' "$*" "$status" "$wanted" "$text" "$output"
    failed=1
  fi
}

export WEFT_CACHE_DIR=$scratch/kernels
expect 0 'verdict  ' info
expect 0 '"verdict": "' info --json
# Whatever is installed: no libraries where it was told to look, no folder, no GPU to be seen.
export WEFT_NVRTC_PATH=$scratch/none WEFT_CUBLASLT=$scratch/none WEFT_CACHE=off CUDA_VISIBLE_DEVICES=-1
expect 0 "$scratch/none: cannot open" info
expect 0 'NVRTC       not usable: ' info
expect 0 'cuBLASLt    not usable: ' info
expect 0 'kernels     none are kept: turned off by WEFT_CACHE=off' info
expect 0 'GPUs        0' info
expect 0 'settings    WEFT_CACHE            = off' info
expect 0 '"WEFT_CACHE": "off"' info --json
expect 0 'programs run on the cpu' info
expect 0 '0.' --version
expect 0 'info' --help
expect 106 'subcommand is required' # nothing asked for
expect 109 'not expected' info --no-such-option
exit $failed
