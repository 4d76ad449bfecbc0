"""The examples of the README run as they are there, against a real server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_server import SECONDS_MOST

import drover_sdk as drover
from drover_sdk.workflow import Step, Workflow

SDK = Path(__file__).resolve().parents[1]
TEXT = (SDK / "README.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def environment(address: str) -> dict[str, str]:
    return {**os.environ, "DROVER_ADDRESS": address, "PYTHONPATH": str(SDK)}


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ('id="hello-agent"', {"state": "COMPLETED", "flight": {"booking": "flight-to-Lisbon"}}),
        ('"find-charge"', {"state": "COMPLETED", "pay": {"charge": 1}, "charges": 1}),
        (
            "drover.deferred()",
            {
                "state": "COMPLETED",
                "pack": {"boxes": 2},
                "ship": {"parcel": "p-7"},
                "delivered": {"to": "the neighbour"},
            },
        ),
        ("escalations.resolve", {"state": "COMPLETED", "send": {"transfer": "t-9"}}),
        ("drover.WorkflowType", {"booking": "flight-to-Porto"}),
        ("run_handler", {}),
    ],
)
def test_an_example_has_its_result_and_ends_by_itself(
    address: str, tmp_path: Path, mark: str, expected: dict[str, Any]
) -> None:
    (code,) = [example for example in EXAMPLES if mark in example]
    program = tmp_path / "example.py"
    program.write_text(code)
    printed = subprocess.run(
        [sys.executable, str(program)],
        env=environment(address),
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    seen = json.loads(printed) if expected else {}
    if "flight" in seen:
        assert seen["flight"].pop("key")
    assert {name: seen[name] for name in expected} == expected


def test_no_example_is_left_out() -> None:
    assert len(EXAMPLES) == 6


async def test_the_agent_of_the_example_performs_and_ends_at_sigterm(address: str) -> None:
    program = SDK / "examples/greeter.py"
    assert len(program.read_text().splitlines()) < 35
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(program), env=environment(address)
    )
    async with drover.Client(address) as client:
        greeting = Workflow("greeting", [Step("greet", task="greet", compensate="ungreet")])
        run_id = (await client.schedule(greeting, input={"name": "Ada"})).run_id
        run = await asyncio.wait_for(client.wait_run(run_id), SECONDS_MOST)
        (step,) = (await client.get_run(run_id)).steps
    assert (run.state, step.output) == ("COMPLETED", {"greeting": "Hello, Ada!"})
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), SECONDS_MOST) == 0
