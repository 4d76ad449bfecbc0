"""An agent as a program: `python agent_program.py ADDRESS`, with handlers of every kind."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
import time
from typing import Any

import drover_sdk as drover
from drover_sdk.tasks import Task

agent = drover.Agent(
    sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:1",
    id="program",
    grace="1s",
    cancel_grace="200ms",
    slots=1,
)


@agent.task("quick")
def quick(task: Task) -> Any:
    return "done"


@agent.task("signalled-beside")
def signalled_beside(task: Task) -> Any:
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    return "done"


@agent.task("stuck-async")
async def stuck_async(task: Task) -> Any:
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


@agent.task("blocking-async")
async def blocking_async(task: Task) -> Any:
    time.sleep(60)  # noqa: ASYNC251


@agent.task("stuck")
def stuck(task: Task) -> Any:
    time.sleep(60)


@agent.task("isolated", isolated=True)
def isolated(task: Task) -> Any:
    task.progress(counter=7)
    task.details({"page": 7})
    task.log.info("at work")
    return [os.getpid(), task.input, task.last_details, task.left() > 0]


@agent.task("isolated-async", isolated=True)
async def isolated_async(task: Task) -> Any:
    task.details("started")
    await asyncio.Event().wait()


@agent.task("isolated-stuck", isolated=True)
def isolated_stuck(task: Task) -> Any:
    task.details("started")
    while True:
        time.sleep(60)


@agent.task("isolated-dying", isolated=True)
def isolated_dying(task: Task) -> Any:
    os._exit(3)


@agent.task("isolated-raising", isolated=True)
def isolated_raising(task: Task) -> Any:
    raise drover.PermanentError("no-room", "fully booked")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    agent.run()
