"""What the handler does: the acts in the input of its task, see test/conformance/PROTOCOL.md.

Nothing of an agent is here: a handler of your own takes the task and returns its outcome."""
import json, os, time

from drover.v1 import payload_pb2, task_pb2
from google.protobuf.duration_pb2 import Duration

KINDS = {1: "perform", 2: "verify", 3: "compensate"}
Outcome = task_pb2.Outcome


def emit(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


def payload(value):
    return payload_pb2.Payload(json=json.dumps(value))


def failed(code, permanent=False, message="", retry_after_ms=None, no_effect=False):
    wait = {} if retry_after_ms is None else {"retry_after": millis(retry_after_ms)}
    return Outcome(failed=Outcome.Failed(code=code, message=message, failure_class=2 if permanent else 1,
                                         no_effect=no_effect, **wait))


def millis(ms):
    return Duration(seconds=ms // 1000, nanos=ms % 1000 * 1_000_000)


def instead(refused, message):
    """For an outcome that was refused: its effect remains, and only its output cannot be sent."""
    if refused.HasField("success"):
        return Outcome(success=Outcome.Success(output_problem=message.partition(" ")[2]))
    return Outcome(unknown=Outcome.Unknown(code="report-refused", message=message))


def outcome(name, value, task):
    if name in ("success", "happened"): return Outcome(success=Outcome.Success(output=payload(value)))
    if name == "echo":
        field = {"input": "input", "details": "last_details", "output": "output"}[value]
        given = json.loads(getattr(task, field).json) if task.HasField(field) else None
        return outcome("success", given, task)
    if name == "large": return outcome("success", "x" * value, task)
    if name == "fail": return failed(**value)
    if name == "unknown": return Outcome(unknown=Outcome.Unknown(**value))
    if name == "cannot_tell": return Outcome(unknown=Outcome.Unknown(code="cannot-tell", **value))
    if name == "did_not_happen": return failed("did-not-happen", no_effect=True)
    if name == "again": return Outcome(again=Outcome.Again(after=millis(value["after_ms"])))
    if name == "deferred": return Outcome(deferred=Outcome.Deferred())
    if name == "cancelled": return Outcome(cancelled=Outcome.Cancelled(**value))
    return failed("bad-script", permanent=True)


def perform(held):
    task = held.task
    about = {"run": task.run_id, "step": task.step_id, "kind": KINDS[task.kind],
             "attempt": task.attempt, "fence": task.fence}
    emit("started", **about, key=task.idempotency_key, effect_key=task.effect_key,
        callback_token=task.callback_token, item=task.item if task.HasField("item") else None)
    name, result = act(held, about)
    emit("ended", **about, act=name)
    return result


def act(held, about):
    task, script = held.task, json.loads(held.task.input.json)
    if not isinstance(script, dict): return "", failed("bad-script", permanent=True)
    tries = script.get(about["kind"]) or [[]]
    number = task.fence if about["kind"] == "perform" else task.attempt
    for one in tries[min(number, len(tries)) - 1]:
        name, value = next(iter(one.items()))
        if name == "progress": held.notes = {**held.notes, "progress": task_pb2.Progress(**value)}
        elif name == "details": held.notes = {**held.notes, "details": payload(value)}
        elif name == "await":
            emit("waiting", **about, path=value)
            while not os.path.exists(value) and not held.stopped(): time.sleep(0.02)
            if os.path.exists(value): continue
            emit("stopped", **about, why=held.stopped())
            for other, given in one.get("on_stop", {}).items(): return other, outcome(other, given, task)
            if held.why == "cancelled": return "stopped", outcome("cancelled", {}, task)
            return "stopped", outcome("unknown", {"code": held.why}, task)
        else: return name, outcome(name, value, task)
    return "", Outcome(success=Outcome.Success())
