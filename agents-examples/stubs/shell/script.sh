# What the handler does: the acts in the input of its task, see test/conformance/PROTOCOL.md.
# Nothing of an agent is here: a handler of your own takes the task in the answer to the poll, which
# is $held/task, and leaves $held/outcome.

emit() { # EVENT MORE: the further members, each after a comma
  printf '{"event":"%s"%s}\n' "$1" "$2"
}

perform() {
  # Lines: what all events have, what the first one has, then three for each act.
  jq -r '.tasks[0] |
    def bare: "," + (tojson | .[1:-1]);
    (.kind | ltrimstr("TASK_KIND_") | ascii_downcase) as $kind
    | (.fence // 0) as $fence | (.attempt // 0) as $attempt
    | ({run: .runId, step: .stepId, kind: $kind, attempt: $attempt, fence: $fence} | bare),
      ({key: (.idempotencyKey // ""), effect_key: (.effectKey // ""),
        callback_token: (.callbackToken // ""), item} | bare),
      ((.input.json // "null" | fromjson) as $script
      | if $script | type != "object" then "bad-script", "null", "null" else
          ($script[$kind] // []) as $tries
          | (if $kind == "perform" then $fence else $attempt end) as $number
          | $tries[([$number, ($tries | length)] | min) - 1] // [] | .[]
          | if has("await") then "await", .await, (.on_stop | tojson)
            else to_entries[0] | .key, (.value | tojson), "null" end
        end)' "$held/task" >"$held/acts"
  {
    read -r about && read -r first && emit started "$about$first" && acts
    emit ended "$about,\"act\":\"$act\""
  } <"$held/acts"
  mv "$held/outcome.new" "$held/outcome"
}

acts() {
  while read -r act && read -r value && read -r on_stop; do
    case $act in
      progress) note progress "$value" ;;
      details) note details "$(printf %s "$value" | jq -c '{json: tojson}')" ;;
      await) await "$value" "$on_stop" || return ;;
      *) outcome "$act" "$value" && return ;;
    esac
  done
  act='' && echo '{"success":{}}' >"$held/outcome.new"
}

note() { # NAME VALUE: a further member of the report of a heartbeat
  printf ',"%s":%s' "$1" "$2" >"$held/$1.new" && mv "$held/$1.new" "$held/$1.note"
}

await() { # PATH ON_STOP: fails if that ends the handler
  emit waiting "$about,\"path\":\"$1\""
  until [ -e "$1" ]; do
    kill -0 $$ 2>/dev/null || exit # the agent was killed
    if stopped; then
      emit stopped "$about,\"why\":\"$why\""
      act=stopped
      case $2$why in
        nullcancelled) outcome cancelled '{}' ;;
        null*) outcome unknown "{\"code\":\"$why\"}" ;;
        *)
          act=$(printf %s "$2" | jq -r 'keys[0]')
          outcome "$act" "$(printf %s "$2" | jq -c '.[]')"
          ;;
      esac
      return 1
    fi
    sleep 0.02
  done
}

outcome() { # ACT VALUE
  printf %s "$2" | jq -c --arg act "$1" --slurpfile task "$held/task" '
    def success(text): {success: {output: {json: text}}};
    def failed: {failed: ({failureClass: "FAILURE_CLASS_TRANSIENT"} + .)};
    if $act == "success" or $act == "happened" then success(tojson)
    elif $act == "echo" then
      {input: "input", details: "lastDetails", output: "output"}[.] as $field
      | success($task[0].tasks[0][$field].json // "null")
    elif $act == "large" then success("x" * . | tojson)
    elif $act == "fail" then
      {code, message: (.message // ""), noEffect: (.no_effect // false)}
      + (if .permanent then {failureClass: "FAILURE_CLASS_PERMANENT"} else {} end)
      + (if .retry_after_ms then {retryAfter: "\(.retry_after_ms / 1000)s"} else {} end) | failed
    elif $act == "did_not_happen" then {code: "did-not-happen", noEffect: true} | failed
    elif $act == "cannot_tell" then {unknown: {code: "cannot-tell", message}}
    elif $act == "again" then {again: {after: "\(.after_ms / 1000)s"}}
    elif $act == "unknown" or $act == "deferred" or $act == "cancelled" then {($act): .}
    else {code: "bad-script", failureClass: "FAILURE_CLASS_PERMANENT"} | failed end
  ' >"$held/outcome.new"
}

instead() { # of an outcome that was refused: its effect remains, only its output cannot be sent
  jq -c --slurpfile was "$held/outcome" '.answers[0].status.message as $why | if $was[0].success
    then {success: {outputProblem: ($why | sub("^results\\S+ "; ""))}}
    else {unknown: {code: "report-refused", message: $why}} end'
}
