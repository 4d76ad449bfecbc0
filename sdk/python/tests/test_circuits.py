"""What a client makes of a circuit."""

from __future__ import annotations

import asyncio

from fake_server import FakeServer

import drover_sdk as drover
from drover_sdk import rpc
from drover_sdk.v1 import circuit_pb2


async def test_one_of_tasks_that_a_pin_reserves_for_a_version_of_agents_names_the_version(
    server: FakeServer,
) -> None:
    async with drover.Client(server.address) as client:
        asked = asyncio.ensure_future(client.circuits.list())
        call = await server.inbox(rpc.LIST_CIRCUITS).next()
        call.answer(circuits=[circuit_pb2.Circuit(queue="bank", task="pay", agent_version="2.1")])
        (circuit,) = (await asked).circuits
    assert (circuit.task, circuit.agent_version) == ("pay", "2.1")
