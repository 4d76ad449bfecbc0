"""A whole Drover agent with nothing but generated code: greets people, and takes it back.

The rules that it follows are in the comments of proto/drover/v1/agent_service.proto."""
import argparse, itertools, json, os, signal, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gen"))

import grpc
from drover.v1 import agent_service_pb2 as msg
from drover.v1 import agent_service_pb2_grpc, payload_pb2, task_pb2
from google.protobuf.duration_pb2 import Duration

# These say nothing about whether the call took effect: repeat it. All else is definite.
UNKNOWN = {"UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "UNKNOWN"}
POLL_WAIT = 20  # seconds
lost = {}  # polls that ended without an answer: number -> moment until which they are named


def seconds(duration):
    return duration.ToTimedelta().total_seconds()


def lost_polls():
    for seq in [seq for seq, until in lost.items() if until < time.monotonic()]: lost.pop(seq, None)
    return list(lost)


def perform(task, stop, slow):
    if stop.wait(slow):  # set when the work must end
        return task_pb2.Outcome(cancelled=task_pb2.Outcome.Cancelled())
    if task.kind == task_pb2.TASK_KIND_COMPENSATE:
        said = json.loads(task.output.json)["said"] if task.HasField("output") else None
        output = {"unsaid": said, "effect_key": task.effect_key}
    else:
        output = {"said": f"Hello, {json.loads(task.input.json)['name']}!"}
    success = task_pb2.Outcome.Success(output=payload_pb2.Payload(json=json.dumps(output)))
    return task_pb2.Outcome(success=success)


def beat(stub, me, task, ends, stop, answered):
    """Keeps the lease until the report is answered; says when the work must end."""
    while not answered.wait(seconds(task.beat_every)):
        sent = time.monotonic()
        reports = [msg.HeartbeatReport(task_token=task.task_token)]
        request = msg.HeartbeatRequest(agent=me, reports=reports, lost_polls=lost_polls())
        try:
            answer = stub.Heartbeat(request, timeout=max(0.5, min(10, ends - sent))).answers[0]
            if answer.HasField("carry_on"):
                ends = sent + seconds(answer.carry_on.lease_for)
            elif answer.HasField("cancel") or answer.HasField("lease_lost"):
                stop.set()
        except grpc.RpcError as error:
            print(f"heartbeat: {error.code()}", flush=True)
        if time.monotonic() > ends:  # by our own clock the lease is over
            stop.set()


def complete(stub, me, task, outcome):
    """Reports until the answer is definite."""
    result = msg.TaskResult(task_token=task.task_token, outcome=outcome)
    request = msg.CompleteRequest(agent=me, results=[result])
    while True:
        try:
            return stub.Complete(request, timeout=10).answers[0].status.code
        except grpc.RpcError as error:
            if error.code().name not in UNKNOWN | {"RESOURCE_EXHAUSTED"}:
                raise
            time.sleep(0.5)


def work(stub, me, task, ends, slow):
    stop, answered = threading.Event(), threading.Event()
    threading.Thread(target=beat, args=(stub, me, task, ends, stop, answered), daemon=True).start()
    try:
        outcome = perform(task, stop, slow)
    except (KeyError, TypeError, ValueError) as error:
        failed = task_pb2.Outcome.Failed(code="bad-input", message=repr(error)[:4096],
                                         failure_class=task_pb2.FAILURE_CLASS_PERMANENT)
        outcome = task_pb2.Outcome(failed=failed)
    code = complete(stub, me, task, outcome)
    print(f"{task.task} {task.step_id}: answered with {code}", flush=True)
    answered.set()


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--address", required=True, help="host:port of the server")
    flags.add_argument("--id", default="python-stub", help="name of the agent")
    flags.add_argument("--slow", type=float, default=0, help="seconds that each task takes")
    args = flags.parse_args()
    stopping, wake = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: (stopping.set(), wake.set()))
    stub = agent_service_pb2_grpc.AgentServiceStub(grpc.insecure_channel(args.address))
    me = msg.Agent(id=args.id, session=os.urandom(16))
    for seq in itertools.count(1):
        wake.clear()
        if stopping.is_set(): break
        sent = time.monotonic()
        request = msg.PollTaskRequest(
            agent=me, poll_seq=seq, queues=[msg.QueueWeight(name="greetings")], max_tasks=1,
            tasks=["greet", "ungreet"], wait=Duration(seconds=POLL_WAIT), lost_polls=lost_polls())
        poll = stub.PollTask.future(request, timeout=POLL_WAIT + 10)
        poll.add_done_callback(lambda _: wake.set())
        wake.wait()
        poll.cancel()  # only SIGTERM comes before the answer; one that is done stays as it is
        try:
            answer = poll.result()
        except (grpc.RpcError, grpc.FutureCancelledError):
            lost[seq] = sent + POLL_WAIT + 30
            stopping.wait(0.5)
            continue
        granted = sent + seconds(answer.waited)
        for task in answer.tasks:
            work(stub, me, task, granted + seconds(task.lease_for), args.slow)
    if lost_polls():
        stub.Heartbeat(msg.HeartbeatRequest(agent=me, lost_polls=lost_polls()), timeout=2)


if __name__ == "__main__":
    main()
