"""The client's calls for operators: what they send, and what they make of the answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

import pytest
from fake_server import SECONDS_MOST, FakeServer

import drover_sdk as drover
from drover_sdk import rpc
from drover_sdk.circuits import Cordon
from drover_sdk.namespaces import NamespaceLimits, Region
from drover_sdk.operations import OpenRuns
from drover_sdk.queues import QueueLimits
from drover_sdk.rpc import Method

T = TypeVar("T")


@pytest.fixture
async def client(server: FakeServer) -> AsyncIterator[drover.Client]:
    async with drover.Client(server.address, namespace="acme") as made:
        yield made


async def answered(
    server: FakeServer, method: Method[Any, Any], work: Awaitable[T], **answer: Any
) -> tuple[Any, T]:
    """What the call sent, and what it made of this answer."""
    asked = asyncio.ensure_future(work)
    call = await server.inbox(method).next()
    call.answer(**answer)
    return call.request, await asyncio.wait_for(asked, SECONDS_MOST)


async def test_a_queue_is_paused_and_resumed_and_read_with_what_holds_it_up(
    server: FakeServer, client: drover.Client
) -> None:
    paused = {"name": "mail", "leased": 2, "pause": {"reason": "full"}}
    request, queue = await answered(
        server, rpc.PAUSE_QUEUE, client.queues.pause("mail", reason="full"), queue=paused
    )
    assert (request.namespace, request.queue, request.reason) == ("acme", "mail", "full")
    assert queue.pause is not None
    assert (queue.leased, queue.pause.reason, queue.limits) == (2, "full", None)
    _, queue = await answered(
        server, rpc.RESUME_QUEUE, client.queues.resume("mail"), queue={"name": "mail"}
    )
    assert queue.pause is None
    _, details = await answered(
        server,
        rpc.GET_QUEUE,
        client.queues.get("mail"),
        queue=paused,
        tasks=[{"task": "send", "depth": 3, "oldest_time": {"seconds": 1}}],
        namespace_pause={"reason": "all"},
    )
    (task,) = details.tasks
    assert (task.task, task.depth, task.polled_time) == ("send", 3, None)
    assert details.namespace_pause is not None
    request, page = await answered(
        server,
        rpc.LIST_QUEUES,
        client.queues.list(page_size=1, page_token="a"),
        queues=[paused],
        next_page_token="b",
    )
    assert (request.page_size, request.page_token) == (1, "a")
    assert (page.queues[0].name, page.next_page_token, page.namespace_pause) == ("mail", "b", None)


async def test_the_limits_of_a_queue_are_set_as_a_whole(
    server: FakeServer, client: drover.Client
) -> None:
    request, queue = await answered(
        server,
        rpc.SET_QUEUE_LIMITS,
        client.queues.set_limits("mail", leased=7, per_second=0.5),
        queue={"limits": {"leased": 7, "per_second": 0.5}},
    )
    assert (request.limits.leased, request.limits.per_second, request.limits.burst) == (7, 0.5, 0)
    assert queue.limits == QueueLimits(7, 0.5, 0)


async def test_a_circuit_is_opened_closed_and_released_by_somebody(
    server: FakeServer, client: drover.Client
) -> None:
    circuit = {"queue": "mail", "task": "send", "setting": "CIRCUIT_SETTING_OPEN", "set_by": "ada"}
    calls = (
        (client.circuits.open, "CIRCUIT_SETTING_OPEN"),
        (client.circuits.close, "CIRCUIT_SETTING_CLOSED"),
        (client.circuits.release, "CIRCUIT_SETTING_UNSPECIFIED"),
    )
    for call, setting in calls:
        request, read = await answered(
            server,
            rpc.SET_CIRCUIT,
            call("mail", "send", by="ada", why="down", agent_id="a1"),
            circuit=circuit,
        )
        field = request.DESCRIPTOR.fields_by_name["setting"]
        assert field.enum_type.values_by_number[request.setting].name == setting
        assert (request.queue, request.task, request.agent_id) == ("mail", "send", "a1")
        assert (request.namespace, request.by, request.why) == ("acme", "ada", "down")
        assert (read.setting, read.set_by, read.set_time) == ("OPEN", "ada", None)
    _, page = await answered(server, rpc.LIST_CIRCUITS, client.circuits.list(), circuits=[circuit])
    assert [one.task for one in page.circuits] == ["send"]


async def test_a_cordon_is_of_an_agent_a_session_or_a_version(
    server: FakeServer, client: drover.Client
) -> None:
    request, cordon = await answered(
        server,
        rpc.CORDON_AGENT,
        client.circuits.cordon(version="1.2.0", by="ada", why="broken"),
        cordon={"version": "1.2.0", "cordoned_by": "ada", "why": "broken"},
    )
    assert (request.WhichOneof("of"), request.version, request.by) == ("version", "1.2.0", "ada")
    assert cordon == Cordon(None, None, "1.2.0", "ada", "broken", None)
    request, was = await answered(
        server, rpc.UNCORDON_AGENT, client.circuits.uncordon(agent_id="a1"), uncordoned=True
    )
    assert (request.WhichOneof("of"), request.agent_id, was) == ("agent_id", "a1", True)
    session = bytes(range(16))
    request, cordon = await answered(
        server,
        rpc.CORDON_AGENT,
        client.circuits.cordon(session=session, by="ada"),
        cordon={"session": session, "cordoned_by": "ada"},
    )
    assert (request.WhichOneof("of"), request.session, cordon.session) == (
        "session",
        session,
        session,
    )
    _, cordons = await answered(
        server, rpc.LIST_CORDONS, client.circuits.cordons(), cordons=[{"agent_id": "a1"}]
    )
    assert [(one.agent_id, one.version) for one in cordons] == [("a1", None)]
    with pytest.raises(ValueError, match=r"one agent, one session or one version.*name one"):
        await client.circuits.cordon(by="ada")
    with pytest.raises(ValueError, match="agent_id='a1', session=b'', version='1'"):
        await client.circuits.uncordon(agent_id="a1", version="1")


async def test_a_workflow_and_the_namespace_are_paused_and_resumed(
    server: FakeServer, client: drover.Client
) -> None:
    request, pause = await answered(
        server,
        rpc.PAUSE_WORKFLOW,
        client.pause_workflow("trip", reason="wrong"),
        pause={"reason": "wrong", "since_time": {"seconds": 1}},
    )
    assert (request.namespace, request.workflow, pause.reason) == ("acme", "trip", "wrong")
    request, _ = await answered(server, rpc.RESUME_WORKFLOW, client.resume_workflow("trip"))
    assert request.workflow == "trip"
    request, pause = await answered(
        server,
        rpc.PAUSE_NAMESPACE,
        client.namespaces.pause(reason="move"),
        pause={"reason": "move"},
    )
    assert (request.namespace, pause.reason) == ("acme", "move")
    request, _ = await answered(server, rpc.RESUME_NAMESPACE, client.namespaces.resume())
    assert request.namespace == "acme"


async def test_a_namespace_has_its_retention_and_its_limits(
    server: FakeServer, client: drover.Client
) -> None:
    stored = {"name": "acme", "retention": {"seconds": 7_200}}
    request, namespace = await answered(
        server, rpc.SET_NAMESPACE_RETENTION, client.namespaces.set_retention("2h"), namespace=stored
    )
    assert request.retention.seconds == 7_200
    assert (namespace.retention, namespace.limits) == (7_200, None)
    request, namespace = await answered(
        server, rpc.SET_NAMESPACE_RETENTION, client.namespaces.set_retention(None), namespace={}
    )
    assert not request.HasField("retention")
    assert namespace.retention is None
    request, namespace = await answered(
        server,
        rpc.SET_NAMESPACE_LIMITS,
        client.namespaces.set_limits(open_runs=9),
        namespace={"limits": {"open_runs": 9}},
    )
    assert (request.namespace, request.limits.open_runs) == ("acme", 9)
    assert namespace.limits == NamespaceLimits(9, 0, 0, 0)
    request, namespace = await answered(
        server,
        rpc.SET_NAMESPACE_LOGS,
        client.namespaces.set_logs(stored=False),
        namespace={"no_logs": True},
    )
    assert (request.namespace, request.no_logs, namespace.no_logs) == ("acme", True, True)
    _, namespace = await answered(
        server, rpc.GET_NAMESPACE, client.namespaces.get(), namespace={"region": "eu"}
    )
    assert namespace.region == "eu"


async def test_a_namespace_is_created_in_a_region_and_listed(
    server: FakeServer, client: drover.Client
) -> None:
    request, created = await answered(
        server,
        rpc.CREATE_NAMESPACE,
        client.namespaces.create("tests", region="eu"),
        namespace={"name": "tests", "region": "eu"},
        existed=True,
    )
    assert (request.name, request.region) == ("tests", "eu")
    assert (created.namespace.region, created.existed) == ("eu", True)
    _, page = await answered(
        server,
        rpc.LIST_NAMESPACES,
        client.namespaces.list(),
        namespaces=[{"name": "tests"}],
        regions=[{"name": "eu", "watched_partitions": 255, "partitions": 256}],
    )
    assert [one.name for one in page.namespaces] == ["tests"]
    assert page.regions == (Region("eu", 255, 256),)


async def test_an_agent_is_shown_with_what_it_holds_and_what_holds_it_up(
    server: FakeServer, client: drover.Client
) -> None:
    session = bytes(range(16))
    request, details = await answered(
        server,
        rpc.GET_AGENT,
        client.operations.agent(session),
        agent={"id": "a1", "session": session, "cordons": [{"agent_id": "a1"}]},
        tasks=[{"run_id": "r1", "step_id": "s[3]", "kind": "TASK_KIND_VERIFY", "attempt": 2}],
    )
    assert (request.namespace, request.session) == ("acme", session)
    assert details.agent.cordons == (Cordon("a1", None, None, "", "", None),)
    (held,) = details.tasks
    assert (held.run_id, held.step_id, held.kind, held.attempt) == ("r1", "s[3]", "VERIFY", 2)
    assert (held.progress, held.cancelling) == (None, False)


async def test_who_watches_and_what_runs_here_is_asked_for(
    server: FakeServer, client: drover.Client
) -> None:
    request, page = await answered(
        server,
        rpc.LIST_HAND_OVERS,
        client.operations.hand_overs(partition=0),
        hand_overs=[{"epoch": 3, "reason": "HAND_OVER_REASON_LOST"}],
    )
    assert request.HasField("partition")
    assert [(one.epoch, one.reason, one.left_time) for one in page.hand_overs] == [
        (3, "LOST", None)
    ]
    request, _ = await answered(server, rpc.LIST_HAND_OVERS, client.operations.hand_overs())
    assert not request.HasField("partition")
    _, (supervisor,) = await answered(
        server,
        rpc.LIST_SUPERVISORS,
        client.operations.supervisors(),
        supervisors=[{"id": "s1", "alive": True, "partitions": 256}],
    )
    assert (supervisor.id, supervisor.alive, supervisor.partitions) == ("s1", True, 256)
    _, cluster = await answered(
        server,
        rpc.GET_CLUSTER_INFO,
        client.operations.cluster_info(),
        clock_difference={"nanos": 500_000_000},
        migrations=[{"number": 1, "name": "control_plane"}],
        open_runs=[{"state": "RUN_STATE_RUNNING", "count": 4}],
    )
    assert (cluster.clock_difference, cluster.migrations[0].name) == (0.5, "control_plane")
    assert cluster.open_runs == (OpenRuns("RUNNING", 4),)
