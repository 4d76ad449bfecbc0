// Triggers: the ends of two registered workflows start runs, and so do calls from outside. A caller
// repeats calls that were not answered, reuses a key, and sometimes fails to authenticate.

import { createHash, createHmac } from "node:crypto";
import type { Definition } from "../../server/core/definition/definition.ts";
import type { TriggerDefinition } from "../../server/core/definition/trigger.ts";
import type { AllShards } from "../../server/store/all-shards.ts";
import type { Client } from "./client.ts";
import type { Answer, ScheduleAsk } from "./history.ts";
import { type EndTrigger, MARK_LABEL } from "./history-rows.ts";
import { workflowNames } from "./registrar.ts";
import { isToRepeat } from "./seen.ts";
import type { StoreWitness } from "./store-witness.ts";
import { json, QUICK } from "./workload.ts";
import { canaryOf } from "./world.ts";

const CALL_MS_MAX = 3_000;
const TRIES_MAX = 25;
const CALLED = "called";
const SECRET = "only the callers know it";
const HEADER = "x-signature";

export interface Owned {
  readonly namespace: string;
  /** Its canary. */
  readonly word: string;
}

export function endTriggers({ namespace, word }: Owned): readonly EndTrigger[] {
  const [first = "", second = ""] = workflowNames(word);
  return [
    {
      namespace,
      name: "after-any-end",
      workflow: first,
      states: ["COMPLETED", "FAILED", "COMPENSATED"],
    },
    { namespace, name: "after-a-success", workflow: second, states: ["COMPLETED"] },
  ];
}

function afterwards(word: string): Definition {
  const retry = [{ attempts: 5, initialMs: 200 }];
  const step = { id: "s0", needs: [], task: "mail", timeouts: QUICK, retry };
  return { workflow: `${word}-afterwards`, timeoutMs: 30_000, steps: [step] };
}

function scheduleBy(word: string, key: string, labels: Readonly<Record<string, string>>) {
  const { workflow } = afterwards(word);
  const input = json({ canary: word });
  return { kind: "schedule", workflow, version: 0, input, key, labels, priority: 5 } as const;
}

/** Before any run starts, so that each end is known to start another run or not. */
export async function putTriggers(
  store: AllShards,
  witness: StoreWitness,
  all: readonly Owned[],
): Promise<void> {
  for (const { namespace, word } of all) {
    const namespaceId = (await store.namespace(namespace))?.id ?? 0;
    const definition = afterwards(word);
    const definitionId = await store.internDefinition(namespaceId, definition);
    witness.defined(definitionId, definition);
    const name = definition.workflow;
    await store.registerWorkflow({ namespaceId, name, definitionId, keepDefault: false });
    const put = (trigger: TriggerDefinition, value: string | null) => {
      const digest = createHash("sha256")
        .update(value ?? "")
        .digest("hex");
      const secret = value === null ? null : { value, digest };
      return store.triggers.put({ namespaceId, definition: trigger, secret });
    };
    for (const { name, workflow, states } of endTriggers({ namespace, word })) {
      // One names which ends it waits for, the other leaves some out when they have come.
      const isAny = states.length > 1;
      const source = { kind: "run-end", workflow, states: isAny ? [] : states } as const;
      const when = isAny ? 'run.state != "CANCELLED"' : "";
      const action = scheduleBy(word, "", { of: `\${run.id}` });
      await put({ name, source, when, action }, null);
    }
    const labels = { [MARK_LABEL]: `\${body.mark}` };
    const hmac = { kind: "hmac", header: HEADER, prefix: "", timestampHeader: null } as const;
    await put(
      {
        name: CALLED,
        when: "body.counts",
        action: scheduleBy(word, `\${body.key}`, labels),
        source: { kind: "http", auth: { ...hmac, toleranceMs: 0 } },
      },
      SECRET,
    );
  }
}

interface Push {
  readonly ask: ScheduleAsk;
  readonly forged: boolean;
  readonly body: Uint8Array;
  readonly signature: string;
}

export async function callSome(client: Client): Promise<void> {
  const { world, process, namespace } = client;
  const { chance, clock } = process;
  const word = canaryOf(world, namespace);
  for (let number = 1; ; number++) {
    await clock.sleep(chance.between(2_000, 16_000));
    if (world.faults.calm) return;
    const isForged = chance.happens(0.15);
    const isOfNoInterest = !isForged && chance.happens(0.15);
    const mark = `${word}-push-${number}`;
    const counts = !isOfNoInterest;
    const body = Buffer.from(JSON.stringify({ mark, key: mark, counts, canary: word }));
    const secret = isForged ? "something else" : SECRET;
    const signature = createHmac("sha256", secret).update(body).digest("hex");
    const none = { workflow: null, startAt: null, concurrency: null, notify: null };
    const push = {
      ask: { key: mark, digest: mark, mark, ...none },
      forged: isForged,
      body,
      signature,
    };
    world.faults.count(isForged ? "push forged" : "push");
    void pushUntilAnswered(client, push);
    if (!chance.happens(0.25)) continue;
    world.faults.count("push repeated");
    void clock.sleep(chance.between(0, 3_000)).then(() => pushUntilAnswered(client, push));
  }
}

async function pushUntilAnswered(client: Client, push: Push): Promise<void> {
  const { ask, forged, body, signature } = push;
  const { world, process, namespace } = client;
  const { chance, clock } = process;
  const headers = { "content-type": "application/json", [HEADER]: signature };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const server = chance.pick(world.servers);
    const asked = { rpc: "CallTrigger", namespace, forged, ...ask } as const;
    const call = world.recorder.call(process.name, server.name, asked);
    const message = { path: `/hooks/${namespace}/${CALLED}`, headers, body };
    const reply = await world.network.post(process, server, message, CALL_MS_MAX);
    const answer = answerOf(reply);
    world.recorder.answer(process.name, call, answer, []);
    if (!isToRepeat(answer)) return;
    await clock.sleep(chance.between(100, 900));
  }
}

/** `created` is not sent: a repeat gets the same answer. */
function answerOf(reply: { readonly status: number; readonly text: string } | null): Answer {
  if (!reply || reply.status >= 500)
    return { kind: "unknown", code: reply ? String(reply.status) : "UNAVAILABLE" };
  const content: unknown = JSON.parse(reply.text);
  if (typeof content !== "object" || content === null)
    throw new Error("an answer that is no object");
  if ("run_id" in content)
    return { kind: "scheduled", runId: String(content.run_id), created: false };
  const reason = "reason" in content ? String(content.reason) : "IGNORED";
  return { kind: "refused", code: String(reply.status), reason };
}
