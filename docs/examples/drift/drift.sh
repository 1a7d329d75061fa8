#!/bin/sh
# The drift alarm: record a probe of the service, and compare it with the sandbox.
#
#   GATEWAY=https://… RETAIL=https://… ./drift.sh [--trade]
#
# GATEWAY, RETAIL, EXCHANGE and AUTH are the addresses of the service; leave out what you do not
# use. Keys come from the environment too: probe.py says which. Files of tonight and of the last
# time stand in DRIFT_DIR. Exit code: 0 no drift, 1 drift or a failed probe, 2 something is wrong.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
dir=${DRIFT_DIR:-drift}
accepted=${DRIFT_ACCEPTED:-$here/accepted.yaml}
mkdir -p "$dir"
rm -f "$dir/tonight.ndjson" "$dir/recorder.json" "$dir/proposed.yaml"

upstream=""
for plane in gateway retail exchange auth; do
  name=$(printf %s "$plane" | tr a-z A-Z)
  eval "address=\${$name:-}"
  [ -z "$address" ] || upstream="$upstream --$plane $address"
done
[ -n "$upstream" ] || { echo "drift.sh: set GATEWAY, RETAIL, EXCHANGE or AUTH" >&2; exit 2; }

# shellcheck disable=SC2086  # addresses hold no spaces
sim record --to "$dir/tonight.ndjson" $upstream --port-base 0 \
  --ready-file "$dir/recorder.json" > "$dir/recorder.log" 2>&1 &
recorder=$!
trap 'kill "$recorder" 2>/dev/null || true' EXIT
until [ -s "$dir/recorder.json" ]; do
  kill -0 "$recorder" 2>/dev/null || { cat "$dir/recorder.log" >&2; exit 2; }
  sleep 0.2
done

probe=0
python3 "$here/probe.py" "$dir/recorder.json" "$@" > "$dir/probe.log" 2>&1 || probe=$?
kill "$recorder" && wait "$recorder" || true
[ "$probe" -ne 2 ] || { cat "$dir/probe.log" >&2; exit 2; }
[ "$probe" -eq 0 ] || grep -e '!' -e probe "$dir/probe.log" >&2 || cat "$dir/probe.log" >&2

against=""
[ ! -s "$dir/last.json" ] || against="--against $dir/last.json"
drift=0
# shellcheck disable=SC2086
sim compare "$dir/tonight.ndjson" --accepted "$accepted" $against --reading observed \
  --propose "$dir/proposed.yaml" --junit "$dir/drift.xml" --json "$dir/tonight.json" || drift=$?
# a night without answers is nothing to compare the next one with
if [ -s "$dir/tonight.json" ] && grep -q '"agree": [1-9]' "$dir/tonight.json"; then
  mv "$dir/tonight.json" "$dir/last.json"
fi

[ "$drift" -eq 0 ] || exit "$drift"
[ "$probe" -eq 0 ] || { echo "the probe failed: $dir/probe.log" >&2; exit 1; }
