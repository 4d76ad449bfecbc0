"""A whole Drover agent with nothing but generated code; proto/drover/v1/agent_service.proto has the
rules that it follows. Its handler is script.py: put your own in its place."""
import itertools, os, signal, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gen"))

import grpc
from drover.v1 import agent_service_pb2 as msg
from drover.v1 import agent_service_pb2_grpc, task_pb2
from google.protobuf.duration_pb2 import Duration
from script import emit, instead, perform

NAMESPACE, QUEUE = os.environ["DROVER_NAMESPACE"], os.environ["DROVER_QUEUE"]
POLL_WAIT, GRACE = (int(os.environ[f"DROVER_{name}_MS"]) / 1000 for name in ("POLL_WAIT", "GRACE"))
TOKEN = [("authorization", f"Bearer {os.environ['DROVER_TOKEN']}")]  # open servers ignore it
RECEIVE = 8 * 1024 * 1024  # bytes; a single task may be larger than the usual 4 MiB
me = msg.Agent(id=os.environ["DROVER_AGENT"], session=os.urandom(16))
lost = {}  # polls that ended without an answer: number -> time until which they are named
grace_ends = float("inf")  # sooner once it drains


def seconds(duration):
    return duration.ToTimedelta().total_seconds()


def lost_polls():
    return [seq for seq, until in list(lost.items()) if until > time.monotonic()]


def heartbeat(stub, reports):
    return stub.Heartbeat(msg.HeartbeatRequest(
        namespace=NAMESPACE, agent=me, reports=reports, lost_polls=lost_polls()),
        timeout=3, metadata=TOKEN)


class Held:
    """A task that the agent holds: renews its lease until the report is answered."""

    def __init__(self, stub, task, granted):
        self.stub, self.task, self.why, self.notes = stub, task, None, {}
        self.ends = granted + seconds(task.lease_for)
        self.over = granted + seconds(task.attempt_for)
        self.answered, self.lock = threading.Event(), threading.Lock()
        threading.Thread(target=self.renew_lease, daemon=True).start()

    def stopped(self):
        """Why the work must end, or None."""
        ends = {"lease-ended": self.ends, "attempt-over": self.over, "agent-stopped": grace_ends}
        self.why = self.why or next((why for why in ends if time.monotonic() > ends[why]), None)
        return self.why

    def renew_lease(self):
        due = time.monotonic()
        while not self.answered.wait(0.1):
            if time.monotonic() < due and not self.notes: continue
            due = time.monotonic() + seconds(self.task.heartbeat_interval)
            self.send_heartbeat()

    def send_heartbeat(self):
        with self.lock:
            sent, notes, self.notes = time.monotonic(), self.notes, {}
            report = msg.HeartbeatReport(task_token=self.task.task_token, **notes)
            try:
                answer = heartbeat(self.stub, [report]).answers[0]
            except grpc.RpcError:
                return setattr(self, "notes", {**notes, **self.notes})
            if answer.HasField("carry_on"): self.ends = sent + seconds(answer.carry_on.lease_for)
            if answer.HasField("cancel"): self.why = self.why or "cancelled"
            if answer.HasField("lease_lost"): self.why = self.why or "lease-lost"

    def report(self, outcome, refused=False):
        """Repeats the report until it is answered: an error of the call proves nothing about it."""
        if self.notes: self.send_heartbeat()  # what the next attempt resumes from
        result = msg.TaskResult(task_token=self.task.task_token, outcome=outcome)
        request = msg.CompleteRequest(namespace=NAMESPACE, agent=me, results=[result])
        while not self.answered.wait(0.2):
            try:
                status = self.stub.Complete(request, timeout=5, metadata=TOKEN).answers[0].status
            except grpc.RpcError:
                continue
            if status.code == 3 and not refused:  # it is still held
                return self.report(instead(outcome, status.message), True)
            if status.code in (0, 3, 5, 9): self.answered.set()  # all else may pass later


def drain(*_):
    global grace_ends
    grace_ends = time.monotonic() + GRACE
    stopping.set(), wake.set()
stopping, wake = threading.Event(), threading.Event()
signal.signal(signal.SIGTERM, drain)
backoff = [(f"grpc.{name}_reconnect_backoff_ms", 500) for name in ("initial", "max")]
limits = [("grpc.max_receive_message_length", RECEIVE)]
channel = grpc.insecure_channel(os.environ["DROVER_ADDRESS"], backoff + limits)
stub = agent_service_pb2_grpc.AgentServiceStub(channel)
emit("ready")
for seq in itertools.count(1):
    wake.clear()
    if stopping.is_set(): break
    sent = time.monotonic()
    poll = stub.PollTask.future(msg.PollTaskRequest(
        namespace=NAMESPACE, agent=me, poll_seq=seq, queues=[msg.QueueWeight(name=QUEUE)],
        tasks=["work", "check", "undo"], lost_polls=lost_polls(),
        wait=Duration(seconds=int(POLL_WAIT))), timeout=POLL_WAIT + 10, metadata=TOKEN)
    poll.add_done_callback(lambda _: wake.set())
    wake.wait()
    poll.cancel()  # only SIGTERM comes before the answer; one that is done stays as it is
    try:
        answer = poll.result()
    except (grpc.RpcError, grpc.FutureCancelledError):
        lost[seq] = sent + POLL_WAIT + 30
        stopping.wait(0.2)
        continue
    for task in answer.tasks:
        held = Held(stub, task, sent + seconds(answer.waited))
        if task.kind in (1, 2, 3) and not stopping.is_set() and not held.stopped():
            held.report(perform(held))
        else:  # not started, or of a kind that only a newer agent knows
            held.report(task_pb2.Outcome(released=task_pb2.Outcome.Released()))
if lost_polls(): heartbeat(stub, [])
