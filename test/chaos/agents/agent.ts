// The agent in TypeScript: it asks the effects service for each task, which answers how it ends.
// The agents in Go and Python beside it do the same.
import {
  cannotTell,
  createAgent,
  didNotHappen,
  type Handler,
  happened,
  PermanentError,
  TransientError,
  UnknownError,
} from "../../../sdk/typescript/index.ts";

const {
  DROVER_ADDRESS = "",
  DROVER_AGENT = "",
  DROVER_NAMESPACE = "",
  CHAOS_TASKS = "",
  CHAOS_SERVICE = "",
} = process.env;

interface Instruction {
  readonly end: string;
  readonly code: string;
  readonly noEffect: boolean;
  readonly output: unknown;
}

const DIED = 77;

const handle: Handler = async (task, { signal }) => {
  const { kind, runId: run, stepId: step, fence, attempt, idempotencyKey, effectKey } = task;
  const about = { agent: DROVER_AGENT, namespace: DROVER_NAMESPACE, task: task.name, kind };
  const body = JSON.stringify({ ...about, run, step, fence, attempt, idempotencyKey, effectKey });
  let instruction: Instruction;
  try {
    const response = await fetch(CHAOS_SERVICE, { method: "POST", body, signal });
    instruction = (await response.json()) as Instruction;
  } catch (error) {
    signal.throwIfAborted();
    if (kind === "verify") return cannotTell("the answer was lost");
    throw new UnknownError("answer-lost", String(error));
  }
  switch (instruction.end) {
    case "success":
      return instruction.output;
    case "happened":
      return happened(instruction.output);
    case "did-not-happen":
      return didNotHappen();
    case "transient":
      throw new TransientError(instruction.code, "not now", { noEffect: instruction.noEffect });
    case "permanent":
      throw new PermanentError(instruction.code, "never", { noEffect: instruction.noEffect });
    case "die":
      return process.exit(DIED);
    default:
      throw new Error(`the service wants ${instruction.end}`);
  }
};

const agent = createAgent({
  address: DROVER_ADDRESS,
  id: DROVER_AGENT,
  namespace: DROVER_NAMESPACE,
  slots: 12,
  pollWait: "3s",
  grace: "5s",
  handleSignals: true,
  handlers: Object.fromEntries(CHAOS_TASKS.split(",").map((name) => [name, handle])),
});
agent.start();
await agent.done;
