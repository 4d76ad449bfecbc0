"""A handler in a process of its own, which can be killed when it does not stop.

The parent has the lease, the codec and the connection; the child has the handler alone. Between
them goes a pipe: tasks, stops and lease ends to the child, notes, log records and the outcome from
it. A child that has ended its attempt waits for the next; one whose parent has gone ends.
"""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import threading
from multiprocessing.process import BaseProcess

from drover_sdk.attempts import Done
from drover_sdk.executions import call_in
from drover_sdk.held_task import HeldTask, Notes
from drover_sdk.isolated_child import Errand, Pipe, run_child
from drover_sdk.outcomes import output_lost, text_of, unknown, within_limit
from drover_sdk.payloads import Codec
from drover_sdk.task_log import LOG
from drover_sdk.tasks import Handler, Hold, PayloadField, payload_of
from drover_sdk.v1.payload_pb2 import Payload
from drover_sdk.v1.task_pb2 import Outcome, Progress
from drover_sdk.v1.task_pb2 import Task as TaskMessage

_FIELDS: tuple[PayloadField, ...] = ("input", "output", "last_details")


class Child:
    """A process that performs one task after the other."""

    def __init__(self) -> None:
        """Starts it, which takes a tenth of a second or so."""
        # Not by fork: threads and gRPC do not survive one.
        context = multiprocessing.get_context("spawn")
        self.pipe: Pipe
        self.pipe, other = context.Pipe()
        # A daemon: it is ended with this process, however that ends.
        self._process: BaseProcess = context.Process(target=run_child, args=(other,), daemon=True)
        self._process.start()
        other.close()
        self._sending = threading.Lock()

    def send(self, message: object) -> None:
        """From any thread; nothing if it has gone."""
        try:
            with self._sending:
                self.pipe.send(message)
        except OSError:
            pass

    def kill(self) -> None:
        """At once."""
        self._process.kill()

    def close(self) -> None:
        """Waits until it has ended, which it does when its pipe is closed."""
        self.pipe.close()
        self._process.join()


class Children:
    """Those of one agent that wait for a task."""

    def __init__(self) -> None:
        """None yet."""
        self._idle: list[Child] = []
        self._closed = False
        self._lock = threading.Lock()

    def take(self) -> Child:
        """One that waits, or a new one."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return Child()

    def give_back(self, child: Child) -> None:
        """It has ended its attempt."""
        with self._lock:
            if not self._closed:
                self._idle.append(child)
                return
        child.close()

    def close(self) -> None:
        """Ends them."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for child in idle:
            child.close()


class InChild:
    """A handler in a child. A thread exchanges messages with it, since a pipe blocks."""

    def __init__(
        self,
        handler: Handler,
        held: HeldTask,
        hold: Hold,
        agent_id: str,
        codec: Codec,
        children: Children,
        done: Done,
    ) -> None:
        """Not started yet. Raises what the codec raises for payloads that it cannot decode."""
        clear = TaskMessage.FromString(held.task.SerializeToString())
        for field in _FIELDS:
            payload = payload_of(clear, field)
            if payload is not None:
                getattr(clear, field).CopyFrom(codec.decode(payload))
        self._errand = Errand(handler, clear.SerializeToString(), agent_id, held.lease_end)
        self._held = held
        self._hold = hold
        self._codec = codec
        self._children = children
        self._done = done
        self._home = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._killed = False

    def start(self) -> None:
        """In a process of its own."""
        threading.Thread(target=self._run, name="drover-child", daemon=True).start()

    def stop(self) -> None:
        """Sends it to the child."""
        self._send_state()

    def lease_moved(self) -> None:
        """Sends it to the child."""
        self._send_state()

    def kill(self) -> bool:
        """Always possible."""
        with self._lock:
            self._killed = True
            if self._child is not None:
                self._child.kill()
        return True

    def _send_state(self) -> None:
        child = self._child
        if child is not None:
            child.send(("lease", self._held.lease_end))
            if self._held.stopped is not None:
                child.send(("stop", self._held.stopped))

    def _run(self) -> None:
        try:
            child = self._children.take()
        except OSError as error:
            LOG.error("no process could be started for a handler: %s", error)
            call_in(self._home, self._done, Outcome(released=Outcome.Released()))
            return
        with self._lock:
            self._child = child
            if self._killed:
                child.kill()
        child.send(("errand", self._errand))
        self._send_state()
        outcome = self._listen(child)
        with self._lock:
            self._child = None
        if outcome is None:
            child.close()
            outcome = unknown("handler-died", "The process of the handler ended in the middle.")
        else:
            self._children.give_back(child)
        call_in(self._home, self._done, self._sealed(outcome))

    def _listen(self, child: Child) -> Outcome | None:
        """None: the child ended without an outcome."""
        while True:
            try:
                kind, content = child.pipe.recv()
            except (EOFError, OSError):
                return None
            if kind == "outcome":
                return Outcome.FromString(content)
            if kind == "progress":
                self._hold.note(Notes(progress=Progress.FromString(content)))
            elif kind == "details":
                self._hold.note(Notes(details=self._codec.encode(Payload.FromString(content))))
            elif kind == "line":
                self._hold.logged(content)
            elif kind == "log":
                logging.getLogger(content.name).handle(content)

    def _sealed(self, outcome: Outcome) -> Outcome:
        """With its output encoded."""
        if not outcome.success.HasField("output"):
            return outcome
        try:
            outcome.success.output.CopyFrom(self._codec.encode(outcome.success.output))
            sealed = within_limit(outcome)
        except Exception as error:
            sealed = output_lost(f"The handler's result cannot be sent: {text_of(error)}")
        # What the child itself could not send it has logged.
        if sealed.success.output_problem:
            problem = sealed.success.output_problem
            LOG.error("the output of a handler is lost: %s (%s)", problem, self._held.name)
        return sealed
