#!/usr/bin/env bash
# The steps of the GitHub Action. Inputs come in RLASSAY_* variables and are passed as words, never evaluated.
set -euo pipefail

install() {
  if command -v rlassay >/dev/null; then
    echo "using $(command -v rlassay), $(rlassay --version)"
  else
    python -m pip install --quiet "${GITHUB_ACTION_PATH:-$(dirname "$0")/..}"
  fi
}

# One argument a line; empty lines do not count.
lines() {
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line="${line#"${line%%[![:space:]]*}"}"
    line="${line%"${line##*[![:space:]]}"}"
    if [ -n "$line" ]; then words+=("$@" "$line"); fi
  done
}

judge() {
  local words=()
  case "${RLASSAY_COMMAND:-inspect}" in
    inspect | score) words+=("${RLASSAY_COMMAND:-inspect}" --github) ;;
    *) echo "rlassay: command must be inspect or score; got: $RLASSAY_COMMAND" >&2 && exit 2 ;;
  esac
  if [ "${RLASSAY_STRICT:-true}" = true ]; then words+=(--strict); fi
  if [ -n "${RLASSAY_RULES:-}" ]; then words+=(--rules "$RLASSAY_RULES"); fi
  if [ -n "${RLASSAY_JUNIT:-}" ]; then words+=(--junit "$RLASSAY_JUNIT"); fi
  lines --fail-if <<<"${RLASSAY_FAIL_IF:-}"
  words+=(--)
  lines <<<"${RLASSAY_PATHS:-}"
  if [ "${words[-1]}" = -- ]; then echo "rlassay: no path is named; set the input paths" >&2 && exit 2; fi
  rlassay "${words[@]}"
}

"${1:-judge}"
