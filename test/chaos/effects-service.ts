// The remote service: it makes, finds and undoes effects by idempotency keys, records them, and
// answers the agent that asks how its task ends. So all misbehaviour of tasks is drawn here, from
// one seed, and the agents of all languages stay small.
//
//   asked → waits as long as the work takes → acts → answers, or cuts the connection instead
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { Chance } from "../../simulator/chance.ts";
import type { TaskSeen, TokenParts } from "../simulation/history.ts";
import type { Recorder } from "../simulation/recorder.ts";
import { createRemote } from "../simulation/remote.ts";

export interface EffectsService {
  readonly url: string;
  /** From now on it fails no more. */
  calm(): void;
  /** How often each thing happened. */
  readonly counts: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  readonly recorder: Recorder;
  readonly chance: Chance;
  /** The task as it was handed out, by its own idempotency key and its fence. */
  taskOf(key: string, fence: number): TaskSeen | undefined;
  canaryOf(namespace: string): string;
}

/** What an agent says about its task. */
interface Asked {
  readonly namespace: string;
  readonly task: string;
  readonly kind: string;
  readonly fence: number;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly effectKey: string;
}

interface Instruction {
  readonly end:
    | ("success" | "transient" | "permanent" | "die")
    | ("happened" | "did-not-happen" | "cut" | "hang");
  readonly code: string;
  readonly noEffect: boolean;
}

/** The fence up to which a poison task kills its agent: twice, so that it is not given up. */
const POISON_FENCES = 2;
const FLAKY_ATTEMPTS = 2;

const ending = (end: Instruction["end"], code = "", noEffect = false): Instruction => ({
  end,
  code,
  noEffect,
});

export async function startEffectsService(options: ServiceOptions): Promise<EffectsService> {
  const { recorder, chance, taskOf, canaryOf } = options;
  const remote = createRemote(recorder);
  const counts = new Map<string, number>();
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1);
  let isCalm = false;

  async function answer(asked: Asked, response: ServerResponse): Promise<void> {
    const seen = taskOf(asked.idempotencyKey, asked.fence);
    if (!seen) throw new Error(`no task of the key ${asked.idempotencyKey} was handed out`);
    await new Promise((resolve) => setTimeout(resolve, workMs(asked)));
    // Who has left does not get what it asked for.
    if (response.destroyed) return;
    const drawn = endOf(asked, seen.token);
    count(`${asked.kind} ${drawn.end}`);
    if (drawn.end === "hang") return;
    if (drawn.end === "cut") {
      response.destroy();
      return;
    }
    const output = { canary: canaryOf(asked.namespace), key: asked.idempotencyKey };
    response.end(JSON.stringify({ ...drawn, output }));
  }
  function workMs({ task }: Asked): number {
    if (task === "slow") return chance.between(isCalm ? 500 : 2_000, isCalm ? 1_500 : 6_000);
    return chance.happens(isCalm ? 0 : 0.03) ? chance.between(500, 2_500) : chance.between(1, 40);
  }
  function endOf(asked: Asked, token: TokenParts): Instruction {
    if (asked.kind === "verify") return verified(asked, token);
    if (asked.kind === "compensate") return undone(asked, token);
    return performed(asked, token);
  }
  function verified({ effectKey }: Asked, token: TokenParts): Instruction {
    if (!isCalm && chance.happens(0.1)) return ending("cut");
    return remote.refuse(effectKey, token) ? ending("did-not-happen") : ending("happened");
  }
  function undone({ effectKey }: Asked, token: TokenParts): Instruction {
    if (!isCalm && chance.happens(0.1)) return ending("transient", "busy");
    remote.undo(effectKey, token);
    return !isCalm && chance.happens(0.05) ? ending("cut") : ending("success");
  }
  function performed(asked: Asked, token: TokenParts): Instruction {
    const { task, attempt, fence, idempotencyKey: key } = asked;
    const isBare = (): boolean => !remote.hasEffect(key);
    if (task === "sold-out") return ending("permanent", "sold-out", isBare());
    if (task === "flaky" && attempt <= FLAKY_ATTEMPTS) return ending("transient", "busy", isBare());
    if (task === "poison" && fence <= POISON_FENCES && !isCalm) return ending("die");
    if (task === "hang" && fence === 1) return ending("hang");
    if (!isCalm && chance.happens(0.05)) return ending("transient", "busy", isBare());
    if (!isCalm && chance.happens(0.02)) return ending("cut");
    remote.make(key, token);
    // Its verify task has found that nothing happened: that stays true.
    if (isBare()) return ending("permanent", "refused", true);
    return !isCalm && chance.happens(0.04) ? ending("cut") : ending("success");
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      // Written by the agents of this folder.
      const asked = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Asked;
      response.on("error", () => undefined);
      answer(asked, response).catch(() => response.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the service has no port");
  return Object.freeze({
    url: `http://127.0.0.1:${address.port}/`,
    counts,
    calm() {
      isCalm = true;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  });
}
