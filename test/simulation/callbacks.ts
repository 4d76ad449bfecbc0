// The remote service reports by itself: by the callback token of a task that it was given, it
// reports how the attempt ended; early, late, repeatedly or never.
import { create } from "@bufbuild/protobuf";
import {
  CompleteDeferredRequestSchema,
  SchedulerService,
} from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Outcome } from "@drover/proto/drover/v1/task_pb.ts";
import { outcomeDigest } from "../../server/api/agent/convert-outcome.ts";
import type { VirtualProcess } from "../../simulator/virtual-process.ts";
import type { Handed } from "./agent-calls.ts";
import { outcomeFact } from "./history-rows.ts";
import { outcomeMessage } from "./reports.ts";
import { answerSeen, canariesIn, isToRepeat } from "./seen.ts";
import { canaryWords, type World } from "./world.ts";

const CALL_MS_MAX = 2_500;
const TRIES_MAX = 25;

/** Of one namespace: its process lives as long as the world. */
export interface Callbacks {
  /** Reports some time later what the task's key has; `early`: before its agent can report. */
  later(handed: Handed, how: "early" | "in time" | "late"): void;
}

export function createCallbacks(
  world: World,
  process: VirtualProcess,
  namespace: string,
): Callbacks {
  const { chance, clock } = process;

  async function callBack(handed: Handed, afterMs: number): Promise<void> {
    await clock.sleep(afterMs);
    await untilAnswered(handed, outcomeOf(world, handed));
    if (world.faults.calm || !chance.happens(0.2)) return;
    world.faults.count("callback repeated");
    await clock.sleep(chance.between(0, 2_000));
    await untilAnswered(handed, outcomeOf(world, handed));
  }

  async function untilAnswered(handed: Handed, message: Outcome): Promise<void> {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (await isAnswered(handed, message)) return;
      await clock.sleep(chance.between(50, 500));
    }
  }

  async function isAnswered({ task, token }: Handed, message: Outcome): Promise<boolean> {
    const server = chance.pick(world.servers);
    const { kind } = message;
    if (kind.case !== "success" && kind.case !== "failed") throw new Error("no such callback");
    const outcome =
      kind.case === "success"
        ? outcomeFact({ kind: "success", output: null })
        : outcomeFact({ ...FAILED, noEffect: kind.value.noEffect });
    // A callback token does not contain the secret.
    const result = { token: { ...token, secret: "" }, outcome, digest: outcomeDigest(message) };
    const asked = { rpc: "CompleteDeferred", namespace, result } as const;
    const call = world.recorder.call(process.name, server.name, asked);
    const request = create(CompleteDeferredRequestSchema, {
      callbackToken: task.callbackToken,
      outcome: kind,
    });
    const method = SchedulerService.method.completeDeferred;
    const reply = await world.network.unary(process, server, method, request, CALL_MS_MAX);
    const answer = answerSeen(reply, ({ repeated }) => ({ kind: "done", run: null, repeated }));
    world.recorder.answer(process.name, call, answer, canariesIn(reply.bytes, canaryWords(world)));
    return !isToRepeat(answer);
  }

  return Object.freeze({
    later(handed: Handed, how: "early" | "in time" | "late") {
      const [least, most] = DELAYS_MS[how];
      void callBack(handed, chance.between(least, most));
    },
  } satisfies Callbacks);
}

const DELAYS_MS = { early: [0, 30], "in time": [20, 1_200], late: [1_000, 5_000] } as const;

const FAILED = {
  ...({ kind: "failure", class: "transient", code: "refused", retryAfterMs: null } as const),
  message: "the remote service has refused it",
};

/** Once it has reported that there is no effect, the remote service refuses the task's requests. */
function outcomeOf({ remote }: World, { task, token }: Handed): Outcome {
  return remote.refuse(task.idempotencyKey, token)
    ? outcomeMessage({ ...FAILED, noEffect: true })
    : outcomeMessage({ kind: "success", output: { kind: "json", json: '{"called":true}' } });
}
