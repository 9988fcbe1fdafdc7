#!/usr/bin/env bash
# Rules of the source tree that no compiler checks.
#   rules.sh includes|ops|lines|words|environment [ROOT]   one rule over a tree, this one by default
#   rules.sh kernels OBJECT...                 kernel objects export no weak symbols
#   rules.sh selftest                          every rule finds a planted violation
set -uo pipefail
shopt -s nullglob

failed=0
forbid() { # MESSAGE LINES: fails unless LINES is empty
  [[ -z $2 ]] && return
  printf '%s:\n  %s\n' "$1" "${2//$'\n'/$'\n  '}"
  failed=1
}

includes() { # PATH...: path:line:<header> of each #include under those paths that exist
  local path paths=()
  for path; do [[ -e $path ]] && paths+=("$path"); done
  ((${#paths[@]})) || return
  grep -rnE '^[[:space:]]*#[[:space:]]*include' "${paths[@]}" |
    sed -E 's/^([^:]*:[0-9]+:)[[:space:]]*#[[:space:]]*include(_next)?[[:space:]]*/\1/'
}

rule_includes() {
  local code=(graph codegen runtime samples tools)
  forbid 'graph includes what is built on it' \
    "$(includes graph | grep -E ':[<"](.*/)?((codegen|runtime)/|weft/weft\.h)')"
  forbid 'codegen includes what is built on it' \
    "$(includes codegen | grep -E ':[<"](.*/)?(runtime/|weft/weft\.h)')"
  forbid 'a public header includes more than std, <math.h>, <stdlib.h> and weft' \
    "$(includes {graph,codegen,runtime}/include |
      grep -vE ':(<[a-z0-9_]+>|<(math|stdlib)\.h>|<weft/[^>]+>|"weft/[^"]+")([[:space:]]|$)')"
  forbid 'Boost outside graph/src' \
    "$(includes "${code[@]}" | grep -E ':[<"]boost/' | grep -v '^graph/src/')"
  forbid 'Eigen outside runtime/src/cpu' \
    "$(includes "${code[@]}" | grep -E ':[<"](unsupported/)?Eigen/' | grep -v '^runtime/src/cpu/')"
  forbid 'CUDA headers outside codegen/src/build and runtime/src/cuda' \
    "$(includes "${code[@]}" |
      grep -E ':[<"](cuda|nvrtc|nvJitLink|nvml|nvtx|cublas|cudnn|nccl|curand|cub/|cooperative_groups|device_launch|driver_types|vector_types|mma\.h)' |
      grep -vE '^(codegen/src/build|runtime/src/cuda/)|:"cuda/cuda_backend\.h"')"
}

rule_ops() { # the engine asks for kind and traits, never for an op by name
  local table names file
  table=$(cat graph/include/weft/graph/detail/ops*.def /dev/null)
  names=$(sed -nE 's/^[[:space:]]*WEFT_OP_[A-Z0-9_]*\([[:space:]]*([A-Za-z0-9_]+).*/\1/p' <<<"$table" |
    paste -sd'|')
  if [[ -z $names ]]; then
    forbid 'no op found in the table' 'graph/include/weft/graph/detail/ops*.def'
    return
  fi
  local engine=(graph/src/{passes,capture}* runtime/src/{schedule,memory,execute}*)
  ((${#engine[@]})) || return
  while IFS= read -r file; do
    forbid "$file names an op" "$(sed 's,//.*,,' "$file" |
      grep -nE "\\bOp(Id)?::($names)\\b|\"($names)\"|using enum .*OpId")"
  done < <(find "${engine[@]}" -type f)
}

rule_lines() {
  local parts=() part
  for part in graph codegen runtime; do [[ -d $part ]] && parts+=("$part"); done
  ((${#parts[@]})) || return
  forbid 'over 450 lines: is there a second idea in it?' \
    "$(find "${parts[@]}" -type f -exec wc -l {} + | awk '$2 != "total" && $1 > 450')"
}

rule_environment() { # one table of what the environment may say, one place that prints
  local parts=() part
  for part in graph codegen runtime; do [[ -d $part ]] && parts+=("$part"); done
  ((${#parts[@]})) || return
  forbid 'the environment is read outside graph/src/environment.cpp' \
    "$(grep -rnE '\b(secure_)?getenv\b|\b__?environ\b|[^_a-z]environ\b' "${parts[@]}" |
      grep -v '^graph/src/environment.cpp:')"
  forbid 'something is printed outside graph/src/log.cpp' \
    "$(grep -rnE '\bstderr\b|\bstdout\b|std::(cerr|clog|cout)\b|\bperror\(|[^a-z_]printf\(|\bputs\(' "${parts[@]}" |
      grep -v '^graph/src/log.cpp:')"
}

rule_words() { # absolute paths of machines that the project was made on
  forbid 'a path of one machine' \
    "$(grep -rnIE --exclude-dir=.git --exclude=.git --exclude-dir=build '(^|[^A-Za-z0-9_.})/-])/(wor[k]|far[m])([^A-Za-z0-9_-]|$)' .)"
}

# A weak symbol of one instruction-set level may stand in for another level's.
rule_kernels() {
  forbid 'weak symbols in kernel objects (internal linkage or always_inline is needed)' \
    "$(nm -C --defined-only "$@" | grep -E '^[0-9a-f]* ?[WwVvu] ' | sort -u)"
}

expect() { # pass|fail RULE WHAT, in the current folder
  local outcome=pass
  "$self" "$2" "$PWD" >output 2>&1 || outcome=fail
  if [[ $outcome != "$1" ]]; then
    printf 'rule %s should %s: %s\n' "$2" "$1" "$3"
    cat output
    failed=1
  fi
  rm output
}

plant() { # RULE FILE LINE: the rule fails with the line at the file's end, and passes without it
  mkdir -p "$(dirname "$2")"
  touch "$2"
  cp "$2" saved
  printf '%s\n' "$3" >>"$2"
  expect fail "$1" "$2: $3"
  mv saved "$2"
  expect pass "$1" "$2 without: $3"
}

rule_selftest() {
  self=$(realpath "$0")
  tree=$(mktemp -d)
  trap 'rm -rf "$tree"' EXIT
  cd "$tree" || exit 1
  mkdir -p graph/include/weft/graph/detail graph/src/passes runtime/src/cuda
  printf 'WEFT_OP_UNARY(neg, 1)\n  WEFT_OP_SHAPE(slice_update, 2)\n' \
    >graph/include/weft/graph/detail/ops.def
  printf '#include <vector>\n#include <math.h>\n#include <weft/graph/a.h>\n#include "weft/graph/b.h"\n' \
    >graph/include/weft/graph/tensor.h
  printf '#include <boost/graph/graph_traits.hpp>\n// "neg" and OpId::neg in words\nauto s = "negative";\n' \
    >graph/src/passes/fuse.cpp
  printf '#include <cuda.h>\n' >runtime/src/cuda/driver.cpp

  plant includes graph/src/a.cpp '#include <weft/codegen/emit.h>'
  plant includes graph/src/a.cpp '# include "weft/runtime/plan.h"'
  plant includes graph/src/a.cpp '#include <weft/weft.h>'
  plant includes codegen/src/a.cpp '#include "../../runtime/src/a.h"'
  plant includes graph/include/weft/graph/tensor.h '#include <stdint.h>'
  plant includes graph/include/weft/graph/tensor.h '#include "node.h"'
  plant includes runtime/include/weft/weft.h '#include <Eigen/Core>'
  plant includes runtime/src/a.cpp '#include <boost/graph/graph_traits.hpp>'
  plant includes runtime/src/io/a.cpp '#include <Eigen/Core>'
  plant includes codegen/src/emit/a.cpp '#include <nvrtc.h>'
  plant includes samples/a.cpp '#include <cuda_runtime.h>'
  plant ops graph/src/passes/fuse.cpp 'if (node.op == OpId::neg) return;'
  plant ops graph/src/passes/fuse.cpp 'using enum detail::OpId;'
  plant ops runtime/src/execute.cpp 'if (name == "slice_update") return;'
  plant ops runtime/src/memory/arena.cpp 'use(detail::OpId::slice_update);'
  plant ops graph/src/capture.cpp 'use("neg");'
  plant lines runtime/src/a.cpp "$(yes | head -n 451)"
  plant environment runtime/src/a.cpp 'const char* const text = std::getenv("WEFT_A");'
  plant environment codegen/src/a.cpp 'use(::secure_getenv("WEFT_A"));'
  plant environment graph/src/a.cpp 'for (char** each = environ; *each; ++each) use(*each);'
  plant environment graph/src/a.cpp 'std::fprintf(stderr, "weft: no");'
  plant environment runtime/src/a.cpp 'std::cerr << "no";'
  plant words docs/a.md "see /wor""k/main"
  plant words docs/a.md "/far""m is elsewhere"
  : >graph/include/weft/graph/detail/ops.def
  expect fail ops 'an empty table'
}

rule=${1:?usage: rules.sh RULE [ROOT]}
shift
case $rule in
  kernels) rule_kernels "$@" ;;
  selftest) rule_selftest ;;
  *)
    cd "${1:-$(dirname "$0")/..}" || exit 1
    case $rule in
      includes) rule_includes ;;
      ops) rule_ops ;;
      lines) rule_lines ;;
      words) rule_words ;;
      environment) rule_environment ;;
      *) echo "rules.sh: no rule $rule" >&2 && exit 2 ;;
    esac
    ;;
esac
exit "$failed"
