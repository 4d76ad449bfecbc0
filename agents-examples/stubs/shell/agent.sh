#!/bin/sh
# A whole Drover agent with curl and jq; proto/drover/v1/agent_service.proto has its rules.
# Its handler is script.sh: put your own in its place. Every time is in hundredths of a second.
set -u
held=$(mktemp -d) # where the agent and its handler, a process of its own, exchange files
trap 'rm -rf "$held"' EXIT
trap drain TERM
post="curl -s --fail-with-body --oauth2-bearer $DROVER_TOKEN"
post="$post -H content-type:application/json --data-binary @$held/request"
server=http://$DROVER_ADDRESS/drover.v1.AgentService
me="{\"id\":\"$DROVER_AGENT\",\"session\":\"$(head -c 16 /dev/urandom | base64)\"}"
asked="\"queues\":[{\"name\":\"$DROVER_QUEUE\"}],\"tasks\":[\"work\",\"check\",\"undo\"]"
centis='def centis: . // "0s" | rtrimstr("s") | tonumber * 100 | floor;'
poll_wait=$((DROVER_POLL_WAIT_MS / 10)) never=999999999999
grace_ends=$never seq=0 polling='' draining='' lost='' named=''

now() { read -r up _ </proc/uptime && now=${up%.*}${up#*.}; } # the wall clock may jump

drain() {
  now && draining=yes grace_ends=$((now + DROVER_GRACE_MS / 10))
  [ -z "$polling" ] || kill "$polling" 2>/dev/null
}

request() { # MEMBERS: the further ones
  printf '{"namespace":"%s","agent":%s%s}' "$DROVER_NAMESPACE" "$me" "$1" >"$held/request"
  rm -f "$held/answer"
}

name_lost() { # the polls that had no answer, each as number:time until which it is named
  now && named='' all=$lost lost=''
  for poll in $all; do
    [ "${poll#*:}" -le "$now" ] || lost="$lost $poll" named="$named,${poll%:*}"
  done
  named="\"lostPolls\":[${named#,}]"
}

limits() { # for the handler: when it must end, and why
  printf '%s\n' "$stop" "$ends lease-ended" "$over attempt-over" "$grace_ends agent-stopped" \
    >"$held/limits.new"
  mv "$held/limits.new" "$held/limits"
}

stopped() { # whether the work must end: asked by the handler, which finds the reason in $why
  now
  while read -r end why; do [ "$now" -le "$end" ] || return 0; done <"$held/limits"
  return 1
}

has_news() { # progress or details, as members of a report, that no answered heartbeat has brought
  for news in "$held"/*.note "$held"/*.sent; do [ ! -e "$news" ] || return 0; done
  return 1
}

send_heartbeat() {
  now && sent=$now due=$((now + every))
  for note in "$held"/*.note; do [ ! -e "$note" ] || mv "$note" "${note%.note}.sent"; done
  name_lost
  request ",$named,\"reports\":[{\"taskToken\":\"$token\"$(cat "$held"/*.sent 2>/dev/null)}]"
  $post "$server/Heartbeat" -m 3 >"$held/answer" || return
  rm -f "$held"/*.sent
  answer=$(jq -r "$centis"' .answers[0] | if .carryOn then .carryOn.leaseFor | centis
    elif .cancel then "cancelled" elif .leaseLost then "lease-lost" else "unknown" end' \
    <"$held/answer")
  case $answer in
    cancelled | lease-lost) [ "$stop" != "$never" ] || stop="0 $answer" ;;
    [0-9]*) ends=$((sent + answer)) ;;
  esac
}

report() { # whether the server answered it: an error of the call proves nothing
  request ",\"results\":[{\"taskToken\":\"$token\",\"outcome\":$(cat "$held/outcome")}]"
  $post "$server/Complete" -m 5 >"$held/answer" || { sleep 0.2 && return 1; }
  case $(jq '.answers[0].status.code // 0' "$held/answer") in
    0 | 5 | 9) return 0 ;; # accepted, or final
    3) ;;                  # refused, and still held: report something else
    *) sleep 0.2 && return 1 ;;
  esac
  [ ! -e "$held/refused" ] || return 0
  instead <"$held/answer" >"$held/refused"
  cp "$held/refused" "$held/outcome" && return 1
}

hold() { # TOKEN KIND LEASE ATTEMPT EVERY: performs it, renews its lease until it is reported
  token=$1 stop=$never ends=$((sent + $3)) over=$((sent + $4)) every=$5 due=$((sent + $5))
  mv "$held/answer" "$held/task"
  rm -f "$held"/*.note "$held"/*.sent "$held/outcome" "$held/refused" && limits
  case $2$draining in
    TASK_KIND_PERFORM | TASK_KIND_VERIFY | TASK_KIND_COMPENSATE) perform & ;;
    *) echo '{"released":{}}' >"$held/outcome" ;; # not started, or of a kind of newer agents
  esac
  while now; do
    [ -e "$held/outcome" ] && ended=yes || ended=''
    [ "$now" -lt "$due" ] && ! has_news || send_heartbeat
    limits
    [ -z "$ended" ] || ! report || break
    sleep 0.05
  done
}

. "$(dirname "$0")/script.sh"
emit ready ''
while [ -z "$draining" ]; do
  now && sent=$now seq=$((seq + 1)) && name_lost
  request ",\"pollSeq\":$seq,\"wait\":\"$((poll_wait / 100))s\",$asked,$named"
  $post "$server/PollTask" -m $((poll_wait / 100 + 10)) >"$held/answer" 2>/dev/null &
  polling=$!
  [ -z "$draining" ] || kill "$polling" # it came between the two lines above
  if wait "$polling"; then
    polling='' && set -- $(jq -r "$centis"'(.waited | centis) as $waited | .tasks[]? | .taskToken,
      .kind, $waited + (.leaseFor | centis), $waited + (.attemptFor | centis),
      (.heartbeatInterval | centis)' "$held/answer")
    [ $# -eq 0 ] || hold "$@"
  else
    polling='' lost="$lost $seq:$((sent + poll_wait + 3000))"
    sleep 0.2
  fi
done
name_lost && request ",$named" && $post "$server/Heartbeat" -m 3 >/dev/null
exit 0
