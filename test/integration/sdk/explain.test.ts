/** Why a run is not moving, as a client reads it: names, Dates, and null for what is not there. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { ActionKind, NextKind, WaitKind } from "@drover/proto/drover/v1/explain_pb.ts";
import { OutcomeKind, RunState } from "@drover/proto/drover/v1/run_pb.ts";
import { TaskKind } from "@drover/proto/drover/v1/task_pb.ts";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../sdk/typescript/client.ts";
import { givenServer } from "../../support/agent-script.ts";

const noon = new Date("2026-01-31T12:00:00Z");

test("an explanation is read with what its kind of wait has, and without the rest", async () => {
  const server = await givenServer();
  const client = createClient({ address: server.address, namespace: "acme" });
  onTestFinished(() => client.close());
  const explaining = client.explainRun({ key: "order-7" });
  const call = await server.explainRun.next();
  expect(call.request).toMatchObject({
    namespace: "acme",
    run: { ref: { case: "key", value: "order-7" } },
  });
  const lane = { queue: "eu", task: "book", alarms: 2, lastPollTime: timestampFromDate(noon) };
  const poll = { waitingFor: WaitKind.AGENT_TO_POLL, taskKind: TaskKind.VERIFY };
  call.answer({
    run: { runId: "run-1", state: RunState.RUNNING },
    wait: { ...poll, waitsOn: ["hotel"], actions: [{ kind: ActionKind.PAUSE }] },
    steps: [
      {
        ...poll,
        stepId: "hotel",
        next: NextKind.ALARM,
        detail: { case: "lane", value: lane },
        tried: { attempts: 1, lastOutcome: OutcomeKind.UNKNOWN, lastFailure: { code: "odd" } },
        sinceTime: timestampFromDate(noon),
      },
      {
        stepId: "car",
        waitingFor: WaitKind.PERSON,
        detail: { case: "escalation", value: { id: "3", reason: "poison", message: "it kills" } },
        actions: [{ kind: ActionKind.ANSWER, escalationId: "3", choices: ["retry", "skip"] }],
      },
    ],
    now: timestampFromDate(noon),
  });
  const { run, wait, steps, now } = await explaining;
  expect({ state: run.state, now }).toEqual({ state: "RUNNING", now: noon });
  expect(wait).toMatchObject({ waitingFor: "AGENT_TO_POLL", waitsOn: ["hotel"], tried: null });
  expect(steps).toMatchObject([
    {
      stepId: "hotel",
      taskKind: "VERIFY",
      next: "ALARM",
      nextTime: null,
      sinceTime: noon,
      lane: { queue: "eu", task: "book", polled: false, alarms: 2, lastPollTime: noon },
      tried: { attempts: 1, lastOutcome: "UNKNOWN", lastFailure: { code: "odd" } },
      agent: null,
      approval: null,
      escalation: null,
      signalName: "",
    },
    { stepId: "car", waitingFor: "PERSON", next: "UNSPECIFIED", lane: null },
  ]);
  expect(steps[1]?.escalation).toEqual({ id: "3", reason: "poison", message: "it kills" });
  expect(steps[1]?.actions).toMatchObject([{ kind: "ANSWER", choices: ["retry", "skip"] }]);
});
