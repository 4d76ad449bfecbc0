"""What heartbeats cost an agent that holds thousands of tasks."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from manual_clock import ManualClock

from drover_sdk.background import Background
from drover_sdk.heartbeats import Heartbeats
from drover_sdk.held_task import HeldTask
from drover_sdk.v1.agent_service_pb2 import HeartbeatReport, HeartbeatResponse


class _Task:
    heartbeat_interval = 5.0
    notes = None
    checks = 0
    task = SimpleNamespace(task_token="token")

    @property
    def listed(self) -> bool:
        _Task.checks += 1
        return True


async def test_no_task_that_is_added_or_removed_makes_it_check_all_others() -> None:
    async def send(_reports: list[HeartbeatReport], _lists_all_to: int) -> HeartbeatResponse:
        raise AssertionError("no heartbeat is due")

    heartbeats = Heartbeats(ManualClock(), send, lambda: 1, Background())
    tasks = [cast("HeldTask", _Task()) for _ in range(1_000)]
    for task in tasks:
        heartbeats.add(task)
    for task in tasks[:900]:
        heartbeats.remove(task)
    assert _Task.checks == 0
    heartbeats.stop()
