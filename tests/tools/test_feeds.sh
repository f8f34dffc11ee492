#!/usr/bin/env bash
# --infeed and --outfeed of referee eval: files in, files out. Argument: the program.
set -u
. "$(dirname "$(realpath "$0")")/check.sh"
referee=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

cat >feed.hlo <<'HLO'
HloModule m
ENTRY e {
  t = token[] after-all()
  i = (f32[2], token[]) infeed(t)
  a = f32[2] get-tuple-element(i), index=0
  u = token[] get-tuple-element(i), index=1
  j = ((f32[2], s32[]), token[]) infeed(u)
  d = (f32[2], s32[]) get-tuple-element(j), index=0
  b = f32[2] get-tuple-element(d), index=0
  v = token[] get-tuple-element(j), index=1
  s = f32[2] add(a, b)
  o = token[] outfeed(s, v), outfeed_shape=f32[2]
  w = token[] outfeed(d, o), outfeed_shape=(f32[2], s32[])
  ROOT r = f32[2] negate(s)
}
HLO
echo 'f32[2] {1, 2}' >a
echo 'f32[2] {10, 20}' >b
echo 's32[] 7' >c
echo '(f32[2], s32[]) ({10, 20}, 7)' >tuple

check 'a leaf a file' 0 '^f32\[2\] \{-11, -22\}$' "$referee" eval feed.hlo --infeed a --infeed b \
    --infeed c --outfeed out
check 'a tuple in one file' 0 '^f32\[2\] \{-11, -22\}$' "$referee" eval feed.hlo --infeed a \
    --infeed tuple --outfeed again
check 'the same is sent' 0 '' cmp out again
# What was sent feeds another run: {11, 22}, then ({10, 20}, 7).
check 'from a set' 0 '^f32\[2\] \{-21, -42\}$' "$referee" eval feed.hlo --infeed out --repeat 2
check 'on two devices' 0 '^f32\[2\] \{-11, -22\}$' "$referee" eval feed.hlo --replicas 2 --infeed a \
    --infeed b --infeed c --outfeed two
check 'a set a device' 0 'device 1' "$referee" eval feed.hlo --replicas 2 --infeed two
check 'nothing' 2 'i \(infeed\): nothing feeds device 0' "$referee" eval feed.hlo
check 'runs dry' 2 'j \(infeed\): after 2 literals: the infeed of device 0 has run dry' "$referee" \
    eval feed.hlo --infeed a --infeed b
check 'another shape' 2 'i \(infeed\): infeed 0: .*s32\[\] instead of f32\[2\]' "$referee" eval \
    feed.hlo --infeed c
check 'no file' 2 'cannot read nowhere' "$referee" eval feed.hlo --infeed nowhere
check 'a backend would wait' 1 'UNSUPPORTED .*|i \(infeed\): the backend would wait' "$referee" run \
    feed.hlo --backend interp:
check 'nothing was compared' 0 '^0$' bash -c '"$1" run feed.hlo --backend interp: | grep -c tolerance; true' \
    - "$referee"
finish
