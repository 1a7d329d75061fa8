#!/usr/bin/env bash
# The step of finish/action.yml: end the exchange, make a report of its journal.
set -euo pipefail
folder="$RUNNER_TEMP/sandbox-exchange"
if [ ! -e "$folder/pid" ]; then
  echo "::warning::no exchange was started in this job"
  exit 0
fi
pid=$(cat "$folder/pid")
kill -TERM "$pid" 2>/dev/null || true
for _ in $(seq 100); do
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.1
done
rm -f "$folder/pid"
"$SIM_COMMAND" report "$folder/journal.ndjson" --out "$folder/report.html"
tail -n 3 "$folder/console.log"
