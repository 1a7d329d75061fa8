#!/usr/bin/env bash
# The step of action.yml: install, serve, wait, export addresses. Reads SIM_*, and of the runner
# GITHUB_ACTION_PATH, GITHUB_ENV, GITHUB_OUTPUT and RUNNER_TEMP.
set -euo pipefail
folder="$RUNNER_TEMP/sandbox-exchange"
if [ -e "$folder/pid" ] && kill -0 "$(cat "$folder/pid")" 2>/dev/null; then
  echo "::error::an exchange of this job runs already"
  exit 1
fi
mkdir -p "$folder"
rm -f "$folder"/{ready.json,journal.ndjson,console.log,report.html,pid}
if [ -z "${SIM_COMMAND:-}" ]; then
  # An environment of its own: the client's stays as it is.
  python3 -m venv "$folder/venv"
  "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$GITHUB_ACTION_PATH"
  SIM_COMMAND="$folder/venv/bin/sim"
fi
export SIM_READY_FILE="$folder/ready.json" SIM_JOURNAL="$folder/journal.ndjson"
setsid "$SIM_COMMAND" serve >"$folder/console.log" 2>&1 </dev/null &
pid=$!
echo "$pid" >"$folder/pid"
for _ in $(seq 600); do
  [ -e "$SIM_READY_FILE" ] && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
if [ ! -e "$SIM_READY_FILE" ]; then
  cat "$folder/console.log"
  echo "::error::the exchange did not start"
  exit 1
fi
{
  echo "SIM_COMMAND=$SIM_COMMAND"
  echo "SIM_READY_FILE=$SIM_READY_FILE"
} >>"$GITHUB_ENV"
echo "ready-file=$SIM_READY_FILE" >>"$GITHUB_OUTPUT"
# The ready file has one key a line, and those of its first level stand behind one blank.
for surface in gateway retail exchange auth grpc control docs; do
  address=$(sed -n "s/^ \"$surface\": \"\(.*\)\",\?$/\1/p" "$SIM_READY_FILE")
  echo "$surface=$address" >>"$GITHUB_OUTPUT"
  echo "SIM_${surface^^}=$address" >>"$GITHUB_ENV"
  echo "$surface $address"
done
