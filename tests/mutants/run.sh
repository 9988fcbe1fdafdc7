#!/usr/bin/env bash
# Planted bugs that the tests must find. Each patch beside this file is applied to a copy of the
# sources; what it changes is compiled as the build compiles it, the library is linked with that in
# place of its own, and the built test programs run on it: one must fail.
#   run.sh BUILD SONAME TESTS OBJECT...     BUILD: has compile_commands.json; TESTS: the programs
# A patch begins with what is wrong, "killed by: PROGRAM [ARGS]; ...", and, where it changes a
# header, "sources: FILE ...", what to compile. WEFT_MUTANTS: names of those wanted; WEFT_JOBS.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

field() { sed -n "s/^$2: //p" "$here/$1.patch"; } # MUTANT NAME
library_parts='graph|codegen|runtime'

compile() { # COPY SOURCE OUT: its objects, each under its path in BUILD
  local line object
  local -a lines
  mapfile -t lines < <(grep -B1 -F "\"file\": \"$root/$2\"" "$build/compile_commands.json" |
    sed -nE 's/^ *"command": "(.*)",?$/\1/p' | sed 's/\\"/"/g; s/\\\\/\\/g')
  ((${#lines[@]})) || return 1
  for line in "${lines[@]}"; do
    object=$(sed -E 's/.* -o ([^ ]+) .*/\1/' <<<"$line")
    mkdir -p "$(dirname "$3/$object")"
    line=$(sed -E "s#$root/($library_parts)/#$1/\1/#g; s# -o [^ ]+ # -o $3/$object #" <<<"$line")
    (cd "$build" && eval "$line") || return 1
  done
}

link() { # OUT OBJECT...: the library, with the objects under OUT in place of the build's
  local out=$1 object part all=() compiler
  shift
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
  for object; do
    part=${object#"$build"/}
    [[ -e $out/$part ]] && all+=("$out/$part") || all+=("$build/$part")
  done
  "$compiler" -shared "-Wl,-soname,$soname" -o "$out/$soname" "${all[@]}" -lz -ldl -pthread
}

kill_with() { # OUT COMMAND...: prints the first that fails
  local out=$1 command status
  local -a words
  shift
  for command; do
    read -ra words <<<"$command"
    (cd "$out" && LD_LIBRARY_PATH=$out WEFT_FUZZ_SEEDS=0:300 timeout -k 5 120 \
      "$tests/${words[0]}" "${words[@]:1}") >"$out/test.log" 2>&1 </dev/null
    status=$?
    if ((status)); then
      echo "$command$( ((status == 124)) && echo ' (it hangs)')"
      return 0
    fi
  done
  return 1
}

commands_of() { field "$1" 'killed by' | tr ';' '\n' | sed 's/^ *//'; } # MUTANT

one() { # MUTANT: a line of the table; fails unless it is killed. "none" is the unchanged library.
  local mutant=$1 out killer source begin=$SECONDS
  out=$scratch/$mutant
  mkdir -p "$out/tree"
  local -a sources commands
  if [[ $mutant == none ]]; then
    mapfile -t commands < <(for name in $wanted; do commands_of "$name"; done | sort -u)
    link "$out" "${objects[@]}" || { echo "none: does not link"; return 1; }
    if killer=$(kill_with "$out" "${commands[@]}"); then
      printf '%-20s FAILS %s\n' 'no mutant' "$killer"
      tail -n 20 "$out/test.log"
      return 1
    fi
    return 0
  fi
  cp -r "$root"/{graph,codegen,runtime} "$out/tree/"
  if ! patch -d "$out/tree" -p1 -s --no-backup-if-mismatch <"$here/$mutant.patch" >&2; then
    printf '%-20s its patch does not apply\n' "$mutant"
    return 1
  fi
  read -ra sources <<<"$(field "$mutant" sources)"
  ((${#sources[@]})) || mapfile -t sources < <(sed -nE 's#^\+\+\+ b/##p' "$here/$mutant.patch")
  for source in "${sources[@]}"; do
    if ! compile "$out/tree" "$source" "$out" >"$out/build.log" 2>&1; then
      printf '%-20s does not compile\n' "$mutant"
      tail -n 20 "$out/build.log"
      return 1
    fi
  done
  link "$out" "${objects[@]}" || { printf '%-20s does not link\n' "$mutant"; return 1; }
  mapfile -t commands < <(commands_of "$mutant")
  killer=$(kill_with "$out" "${commands[@]}")
  local killed=$?
  rm -rf "${out:?}"
  if ((killed)); then
    printf '%-20s SURVIVES %s\n' "$mutant" "$(field "$mutant" 'killed by')"
    return 1
  fi
  printf '%-20s killed by %-32s %4d s\n' "$mutant" "$killer" $((SECONDS - begin))
}

if [[ ${1:-} == --one ]]; then
  build=$2 soname=$3 tests=$4 scratch=$5 wanted=$6 mutant=${*: -1}
  objects=("${@:7:$#-7}")
  one "$mutant"
  exit
fi

build=$(cd "$1" && pwd) soname=$2 tests=$(cd "$3" && pwd)
shift 3
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
wanted=${WEFT_MUTANTS:-$(cd "$here" && ls ./*.patch | sed 's#^\./##; s/\.patch$//')}
{
  echo none
  tr ' ' '\n' <<<"$wanted"
} | xargs -P "${WEFT_JOBS:-$(nproc)}" -I '{}' \
  bash "$here/run.sh" --one "$build" "$soname" "$tests" "$scratch" "$wanted" "$@" '{}'
status=$?
((status == 0)) && echo "all $(wc -w <<<"$wanted") mutants are killed"
exit "$((status != 0))"
