// A run of two steps in a namespace of its own that no fuzzing names: it completes, whatever the
// server was sent before.
import { randomBytes } from "node:crypto";
import { callJson, listAt, textAt } from "../support/json-call.ts";

const POLLS_MAX = 60;

/** Throws if the run does not complete. */
export async function goodRun(address: string): Promise<void> {
  const namespace = "good";
  const call = async (method: string, body: object): Promise<unknown> => {
    const answer = await callJson(address, method, { namespace, ...body });
    if (answer.status === 200) return answer.body;
    throw new Error(`${method}: ${answer.status} ${JSON.stringify(answer.body)}`);
  };
  const created = await callJson(address, "OperatorService/CreateNamespace", { name: namespace });
  if (created.status !== 200 && created.status !== 409)
    throw new Error(JSON.stringify(created.body));
  const task = { name: "good" };
  const steps = [
    { id: "a", task },
    { id: "b", needs: ["a"], task },
  ];
  const started = await call("SchedulerService/Schedule", {
    definition: { workflow: "good", steps },
  });
  const run = { runId: textAt(started, "runId") };
  const agent = { id: "good", session: randomBytes(16).toString("base64") };
  for (let pollSeq = 1; pollSeq <= POLLS_MAX; pollSeq++) {
    const poll = { agent, pollSeq, tasks: ["good"], maxTasks: 10, wait: "0.5s" };
    const results = listAt(await call("AgentService/PollTask", poll), "tasks").map((taken) => ({
      taskToken: textAt(taken, "taskToken"),
      outcome: { success: {} },
    }));
    if (results.length > 0) await call("AgentService/Complete", { agent, results });
    const state = textAt(await call("SchedulerService/GetRun", { run }), "run", "state");
    if (state === "RUN_STATE_COMPLETED") return;
  }
  throw new Error(`run ${run.runId} has not completed after ${POLLS_MAX} polls`);
}
