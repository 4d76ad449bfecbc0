// Who gets webhooks: a receiver for each namespace, with two hooks. One gets everything,
// the other only of the ends for which it was named. A webhook or its answer may get
// lost, and the receiver may answer that it failed.

import type { AllShards } from "../../server/store/all-shards.ts";
import { OUTBOX_KINDS, type OutboxKind } from "../../server/store/outbox.ts";
import type { Post, PostResult } from "../../server/supervisor/webhook-deliveries.ts";
import type { VirtualProcess } from "../../simulator/virtual-process.ts";
import type { VirtualTime } from "../../simulator/virtual-time.ts";
import type { Faults } from "./faults.ts";
import type { Recorder } from "./recorder.ts";

/** As the real one waits for an answer. */
const TIMEOUT_MS = 10_000;
const ALL_EVENTS_HOOK = "receives-all";
export const NAMED_RUNS_HOOK = "receives-named";
const SECRET = { value: "hard to guess", digest: "" };

const HOOKS: readonly { readonly name: string; readonly events: readonly OutboxKind[] }[] = [
  { name: ALL_EVENTS_HOOK, events: OUTBOX_KINDS },
  { name: NAMED_RUNS_HOOK, events: [] },
];

export async function putHooks(store: AllShards, namespaces: readonly string[]): Promise<void> {
  for (const namespace of namespaces) {
    const namespaceId = (await store.namespace(namespace))?.id ?? 0;
    for (const { name, events } of HOOKS)
      await store.outbox.putHook({
        namespaceId,
        name,
        events,
        secret: SECRET,
        url: `https://${namespace}.example/${name}`,
      });
  }
}

export interface ReceiversOptions {
  readonly time: VirtualTime;
  readonly faults: Faults;
  readonly recorder: Recorder;
}

/** How a process sends; what arrives after its crash, it never receives. */
export function receiversFor(
  { time, faults, recorder }: ReceiversOptions,
  sender: VirtualProcess,
): Post {
  return ({ id, url, body }) =>
    new Promise((resolve) => {
      const reply = (inMs: number, result: PostResult): void =>
        void sender.post(inMs, () => resolve(result));
      const silence = { kind: "failed", why: "no answer" } as const;
      if (faults.strikes("webhook lost")) {
        reply(TIMEOUT_MS, silence);
        return;
      }
      const backMs = sender.chance.between(0, 20);
      const isLost = faults.strikes("answer to a webhook lost");
      time.after(sender.chance.between(0, 20), () => {
        if (!isLost && faults.strikes("webhook refused")) {
          reply(backMs, { kind: "failed", why: "answered 500" });
          return;
        }
        recorder.webhook(id, url, body);
        if (isLost) reply(TIMEOUT_MS, silence);
        else reply(backMs, { kind: "delivered" });
      });
    });
}
