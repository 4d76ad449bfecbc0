"""The agent of the conformance suite: its handler performs the acts in the input of the task, which
test/conformance/PROTOCOL.md defines.
"""

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import drover_sdk as drover

SCAN_EVERY = 0.02


def emit(event: str, **members: Any) -> None:
    sys.stdout.write(json.dumps({"event": event, **members}) + "\n")
    sys.stdout.flush()


def print_event(event: str, task: drover.Task, **members: Any) -> None:
    where = {"run": task.run_id, "step": task.step_id, "kind": task.kind}
    emit(event, **where, attempt=task.attempt, fence=task.fence, **members)


def bad_script(why: str) -> drover.PermanentError:
    return drover.PermanentError("bad-script", why)


def acts_of(task: drover.Task) -> list[dict[str, Any]]:
    if not isinstance(task.input, dict):
        raise bad_script("the input is no object")
    tries: list[list[dict[str, Any]]] = task.input.get(task.kind) or [[]]
    number = task.fence if task.kind == "perform" else task.attempt
    return tries[min(number, len(tries)) - 1]


def end(act: dict[str, Any], task: drover.Task) -> Any:
    """What the handler returns for an act that ends it; what it raises is raised."""
    ((name, value), *_) = [pair for pair in act.items() if pair[0] != "on_stop"]
    if name == "success":
        return drover.json_payload(value)
    if name == "echo":
        of = {"input": task.input, "details": task.last_details, "output": task.output}
        return drover.json_payload(of[value])
    if name == "large":
        return "x" * value
    if name == "fail":
        code, message = value["code"], value.get("message", "")
        no_effect = value.get("no_effect", False)
        if value.get("permanent", False):
            raise drover.PermanentError(code, message, no_effect=no_effect)
        after = value.get("retry_after_ms")
        seconds = None if after is None else after / 1_000
        raise drover.TransientError(code, message, retry_after=seconds, no_effect=no_effect)
    if name == "unknown":
        raise drover.UnknownError(value["code"], value.get("message", ""))
    if name == "again":
        return drover.again(value["after_ms"] / 1_000)
    if name == "deferred":
        return drover.deferred()
    if name == "cancelled":
        raise drover.TaskCancelledError(no_effect=value.get("no_effect", False))
    if name == "happened":
        return drover.happened(drover.json_payload(value))
    if name == "did_not_happen":
        return drover.did_not_happen()
    if name == "cannot_tell":
        return drover.cannot_tell(value["message"])
    if name == "throw":
        raise RuntimeError(value)
    raise bad_script(f"there is no act {name}")


async def appears(path: str) -> None:
    while not Path(path).exists():
        await asyncio.sleep(SCAN_EVERY)


async def ignoring_stop(path: str) -> None:
    while True:
        try:
            return await appears(path)
        except asyncio.CancelledError:
            pass


async def script(task: drover.Task) -> Any:
    keys = {"key": task.idempotency_key, "effect_key": task.effect_key}
    print_event("started", task, **keys, callback_token=task.callback_token, item=task.item)
    ended = ""
    try:
        for act in acts_of(task):
            if "progress" in act:
                task.progress(**act["progress"])
            elif "details" in act:
                task.details(act["details"])
            elif "log" in act:
                task.log.info(act["log"])
            elif "deaf" in act:
                print_event("waiting", task, path=act["deaf"])
                await ignoring_stop(act["deaf"])
            elif "await" in act:
                print_event("waiting", task, path=act["await"])
                try:
                    await appears(act["await"])
                except asyncio.CancelledError:
                    print_event("stopped", task, why=task.stopped)
                    if "on_stop" not in act:
                        ended = "stopped"
                        raise
                    ended = next(iter(act["on_stop"]))
                    return end(act["on_stop"], task)
            else:
                ended = next(iter(act), "")
                return end(act, task)
    finally:
        print_event("ended", task, act=ended)
    return None


def main() -> None:
    logging.basicConfig(level=logging.INFO)
    env = os.environ
    key = env.get("DROVER_CODEC_KEY")
    codec: drover.Codec | None = None
    if key is not None:
        from drover_sdk.aes import AesGcmCodec

        codec = AesGcmCodec(bytes.fromhex(key))
    agent = drover.Agent(
        env["DROVER_ADDRESS"],
        id=env["DROVER_AGENT"],
        namespace=env["DROVER_NAMESPACE"],
        queues=[env["DROVER_QUEUE"]],
        slots=int(env["DROVER_SLOTS"]),
        poll_wait=int(env["DROVER_POLL_WAIT_MS"]) / 1_000,
        grace=int(env["DROVER_GRACE_MS"]) / 1_000,
        cancel_grace=int(env["DROVER_CANCEL_GRACE_MS"]) / 1_000,
        codec=codec,
    )
    for name in ("work", "check", "undo"):
        agent.task(name)(script)
    emit("ready")
    agent.run()


if __name__ == "__main__":
    main()
