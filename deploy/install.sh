#!/bin/sh
# Installs the kubectl plugin "bind": downloads the archive for this machine, checks its SHA-256 sum
# and puts the plugin where kubectl finds it. Nothing is installed unless all of that worked.
set -eu

base_url=${XBIND_BASE_URL:-https://github.com/xbind/xbind/releases/latest/download}
dir=${XBIND_INSTALL_DIR:-${HOME:+$HOME/.local/bin}}

fail() {
  echo "Cannot install kubectl bind: $1" >&2
  exit 1
}

usage() {
  cat <<'USAGE'
Usage: sh install.sh [--dir DIR] [--base-url URL]

  --dir       where to install; default ~/.local/bin      (or XBIND_INSTALL_DIR)
  --base-url  folder with the archives and SHA256SUMS;    (or XBIND_BASE_URL)
              default: the latest release
USAGE
}

while [ $# -gt 0 ]; do
  case $1 in
    --dir=*) dir=${1#*=} ;;
    --base-url=*) base_url=${1#*=} ;;
    --dir | --base-url)
      [ $# -gt 1 ] || fail "$1 needs a value"
      if [ "$1" = --dir ]; then dir=$2; else base_url=$2; fi
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "unknown argument \"$1\" (see --help)" ;;
  esac
  shift
done
[ -n "$dir" ] || fail "there is no home directory (choose a directory with --dir)"
base_url=${base_url%/}

case $(uname -s) in
  Linux) os=linux ;;
  Darwin) os=darwin ;;
  *) fail "there is no archive for the system \"$(uname -s)\"; on Windows unpack the .zip by hand" ;;
esac
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) fail "there is no archive for the architecture \"$(uname -m)\"" ;;
esac

if command -v curl >/dev/null 2>&1; then
  fetch() { curl --fail --silent --show-error --location --output "$2" "$1"; }
elif command -v wget >/dev/null 2>&1; then
  fetch() { wget --quiet --output-document="$2" "$1"; }
else
  fail "neither curl nor wget is installed"
fi
if command -v sha256sum >/dev/null 2>&1; then
  sha256() { sha256sum "$1"; }
elif command -v shasum >/dev/null 2>&1; then
  sha256() { shasum -a 256 "$1"; }
else
  fail "neither sha256sum nor shasum is installed"
fi
for tool in tar sed mktemp; do
  command -v "$tool" >/dev/null 2>&1 || fail "$tool is not installed"
done

mkdir -p "$dir" || fail "the directory \"$dir\" cannot be made"
[ -w "$dir" ] || fail "the directory \"$dir\" is not writable (choose another with --dir)"
# In the same file system as its destination, so that moving is one step.
work=$(mktemp -d "$dir/.kubectl-bind.XXXXXX") || fail "nothing can be written to \"$dir\""
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

fetch "$base_url/SHA256SUMS" "$work/SHA256SUMS" || fail "$base_url/SHA256SUMS cannot be downloaded"
line=$(sed -n "/^[0-9a-f]\{64\}  kubectl-bind_[0-9A-Za-z.-]*_${os}_${arch}\.tar\.gz$/p" "$work/SHA256SUMS")
[ -n "$line" ] || fail "$base_url has no archive for ${os}_${arch}"
[ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "$base_url has several archives for ${os}_${arch}"
expected=${line%%  *}
archive=${line#*  }

fetch "$base_url/$archive" "$work/archive" || fail "$base_url/$archive cannot be downloaded"
actual=$(sha256 "$work/archive")
actual=${actual%% *}
[ "$actual" = "$expected" ] ||
  fail "the SHA-256 sum of $archive is $actual, not $expected: do not use it"

mkdir "$work/new"
tar -xzf "$work/archive" -C "$work/new" || fail "$archive cannot be unpacked"
[ -x "$work/new/kubectl-bind" ] || fail "$archive holds no kubectl-bind"
# The program last: whoever runs it meanwhile gets the old one or the new one, whole.
for name in kubectl-bind.lib kubectl_complete-bind kubectl-bind; do
  if [ -d "$dir/$name" ]; then mv "$dir/$name" "$work/old-$name"; fi
  if [ -e "$work/new/$name" ]; then
    mv -f "$work/new/$name" "$dir/$name" || fail "\"$dir/$name\" cannot be written"
  fi
done

echo "Installed $("$dir/kubectl-bind" --version 2>/dev/null || echo "kubectl bind") in $dir"
case :$PATH: in
  *":$dir:"*) ;;
  *) echo "Add it to PATH, so that kubectl finds it: export PATH=\"$dir:\$PATH\"" ;;
esac
