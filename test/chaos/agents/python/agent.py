"""The agent in Python: it asks the effects service for each task, which answers how it ends."""

import asyncio
import json
import logging
import os
from typing import Any

import drover_sdk as drover

DIED = 77
env = os.environ
host, _, port = env["CHAOS_SERVICE"].removeprefix("http://").rstrip("/").partition(":")


async def ask(task: drover.Task) -> dict[str, Any]:
    body = json.dumps(
        {
            "agent": env["DROVER_AGENT"],
            "namespace": env["DROVER_NAMESPACE"],
            "task": task.name,
            "kind": task.kind,
            "run": task.run_id,
            "step": task.step_id,
            "fence": task.fence,
            "attempt": task.attempt,
            "idempotencyKey": task.idempotency_key,
            "effectKey": task.effect_key,
        }
    ).encode()
    head = f"POST / HTTP/1.0\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(head + body)
        await writer.drain()
        answer = await reader.read()
    finally:
        writer.close()
    wanted: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return wanted


async def handle(task: drover.Task) -> Any:
    try:
        wanted = await ask(task)
    except (OSError, ValueError) as error:
        if task.kind == "verify":
            return drover.cannot_tell("the answer was lost")
        raise drover.UnknownError("answer-lost", repr(error)) from error
    end, code, no_effect = wanted["end"], wanted.get("code", ""), wanted.get("noEffect", False)
    if end == "success":
        return drover.json_payload(wanted.get("output"))
    if end == "happened":
        return drover.happened(drover.json_payload(wanted.get("output")))
    if end == "did-not-happen":
        return drover.did_not_happen()
    if end == "transient":
        raise drover.TransientError(code, "not now", no_effect=no_effect)
    if end == "permanent":
        raise drover.PermanentError(code, "never", no_effect=no_effect)
    if end == "die":
        os._exit(DIED)
    raise RuntimeError(f"the service wants {end}")


def main() -> None:
    logging.basicConfig(level=logging.ERROR)
    agent = drover.Agent(
        env["DROVER_ADDRESS"],
        id=env["DROVER_AGENT"],
        namespace=env["DROVER_NAMESPACE"],
        slots=12,
        poll_wait=3.0,
        grace=5.0,
    )
    for name in env["CHAOS_TASKS"].split(","):
        agent.task(name)(handle)
    agent.run()


if __name__ == "__main__":
    main()
