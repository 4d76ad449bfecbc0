// Sends webhooks. Each delivery of our partitions that is due is sent by itself, and settled by its
// result.
//
//   pending ─ answered 2xx ─→ delivered
//           ─ anything else ─→ pending, later: 5 s, doubled up to an hour; after a day given up
//
// The owner of the partition sends. After a take-over, or after an answer that was lost, a webhook
// is sent twice, under the same id. A round begins every second, and queries only if something was
// announced: by a batch that has written to the outbox, or by the owner's timer scan.
import type { Logger } from "pino";
import type { Clock, Random } from "../clock.ts";
import { endSentence } from "../core/explain/end-sentence.ts";
import { openApproval } from "../core/explain/open-approvals.ts";
import type { EpochMs } from "../core/model/attempt.ts";
import { nameAt, type Plan } from "../core/plan/plan.ts";
import { createLoop } from "../loop.ts";
import type { DueDelivery, Outbox, OutboxApproval, Tried } from "../store/outbox.ts";
import type { Plans } from "../store/plans.ts";
import type { Owned } from "./ownership.ts";

const ROUND_MS = 1_000;
/** Webhooks in flight: of this process, and of one hook, so that a dead hook delays no other. */
const IN_FLIGHT_MAX = 64;
const OUT_OF_HOOK_MAX = 8;
const BACKOFF_MS = 5_000;
const BACKOFF_MS_MAX = 3_600_000;
const JITTER = 0.2;
const GIVEN_UP_AFTER_MS = 24 * 3_600_000;
const ERROR_CHARACTERS_MAX = 500;

/** A webhook that is to be sent. */
export interface Webhook {
  /** The same for each try: receivers recognize a repeat by it. */
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  readonly at: EpochMs;
  readonly body: string;
}

export type PostResult =
  | { readonly kind: "delivered" }
  | { readonly kind: "failed"; readonly why: string };

export type Post = (webhook: Webhook) => Promise<PostResult>;

export interface Deliveries {
  start(): void;
  /** Resolves when all webhooks in flight are settled. */
  stop(): Promise<void>;
  /** One query with all that follows from it; returns how many webhooks were sent. */
  sendOnce(): Promise<number>;
  /** There may be something to send: the next round queries. */
  announce(): void;
}

interface DeliveriesOptions {
  readonly outbox: Pick<Outbox, "due" | "settle">;
  readonly plans: Plans;
  readonly post: Post;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly onFailed?: (() => void) | undefined;
  readonly owned: () => readonly Owned[];
}

export function createDeliveries(options: DeliveriesOptions): Deliveries {
  const { clock, log } = options;
  const out = new Map<string, { readonly hook: string; readonly settled: Promise<void> }>();
  let announced = true;

  async function scan(): Promise<number> {
    const partitions = options.owned().map(({ partition }) => partition);
    if (partitions.length === 0) return 0;
    announced = false;
    const due = await options.outbox.due(partitions, OUT_OF_HOOK_MAX);
    let sent = 0;
    for (const delivery of due) {
      const hook = `${delivery.run.namespaceId}/${delivery.hook}`;
      if (out.has(delivery.id) || out.size >= IN_FLIGHT_MAX) continue;
      if ([...out.values()].filter((one) => one.hook === hook).length >= OUT_OF_HOOK_MAX) continue;
      const settled = send(options, delivery)
        .catch((error: unknown) => {
          log.warn({ event: "webhook.not-settled", delivery: delivery.id, err: String(error) });
        })
        .finally(() => {
          out.delete(delivery.id);
          announced = true;
        });
      out.set(delivery.id, { hook, settled });
      sent++;
    }
    return sent;
  }

  async function settled(): Promise<void> {
    await Promise.all([...out.values()].map((one) => one.settled));
  }

  const loop = createLoop({
    clock,
    everyMs: ROUND_MS,
    async runOnce() {
      if (announced) await scan();
    },
    onError(error) {
      options.onFailed?.();
      log.warn({ event: "webhook.scan-failed", err: String(error) });
    },
  });

  return Object.freeze({
    start: loop.start,
    async stop() {
      await loop.stop();
      await settled();
    },
    async sendOnce() {
      const sent = await scan();
      await settled();
      return sent;
    },
    announce() {
      announced = true;
    },
  });
}

async function send(
  { outbox, plans, post, random, log }: DeliveriesOptions,
  delivery: DueDelivery,
): Promise<void> {
  const { id, hook, kind, run, target, now, createdAt, tries } = delivery;
  const result = await attempt().catch(
    (error: unknown): PostResult => ({ kind: "failed", why: String(error) }),
  );
  const tried = afterTry(delivery, result, random.fraction());
  if (tried.state === "given-up") {
    const about = { delivery: id, hook, kind, namespace: run.namespace, tries: tries + 1 };
    log.warn({ event: "webhook.given-up", ...about, why: tried.error });
  }
  await outbox.settle([tried]);

  async function attempt(): Promise<PostResult> {
    if (!target) return { kind: "failed", why: `the hook "${hook}" was deleted` };
    const { plan } = await plans.get(run.namespaceId, run.definitionId);
    const at = Math.max(now, createdAt);
    const url = delivery.url ?? target.url;
    return post({ id, url, secret: target.secret, at, body: bodyOf(delivery, plan) });
  }
}

/** What follows from a try. `draw`: from 0 up to 1, spreads the tries of many deliveries. */
export function afterTry(
  { id, tries, createdAt, now, target }: DueDelivery,
  result: PostResult,
  draw: number,
): Tried {
  const of = { id, triesBefore: tries };
  if (result.kind === "delivered")
    return { ...of, state: "delivered", error: null, nextTryInMs: 0 };
  const error = result.why.slice(0, ERROR_CHARACTERS_MAX);
  const nextTryInMs = nextTryMs(tries, draw);
  const over = target === null || now + nextTryInMs - createdAt > GIVEN_UP_AFTER_MS;
  return { ...of, state: over ? "given-up" : "pending", error, nextTryInMs };
}

/** From one try to the next, in ms: 5 s, doubled up to an hour, and up to a fifth more. */
export function nextTryMs(triesBefore: number, draw: number): number {
  const base = Math.min(BACKOFF_MS * 2 ** Math.min(triesBefore, 20), BACKOFF_MS_MAX);
  return Math.round(base * (1 + JITTER * draw));
}

/**
 * The body of a webhook: one JSON object with facts that do not change, so that each try of a
 * delivery has the same body.
 *
 *   { id, kind, namespace, count, run: {...}, escalation?: {...}, approval?: {...}, end?: {...} }
 *
 * `count`: how many events of one cause the webhook represents; run, escalation and approval are
 * those of the first.
 */
export function bodyOf(delivery: DueDelivery, plan: Plan): string {
  const { id, kind, count, runId, n, run, escalation, approval } = delivery;
  const { namespace, workflow, version, key, labels, createdAt, end } = run;
  return JSON.stringify({
    id,
    kind,
    namespace,
    count,
    run: { id: runId, key, workflow, version, labels, created: timeOf(createdAt) },
    ...(escalation && {
      escalation: {
        id: String(n),
        step: nameAt(plan, escalation.step),
        reason: escalation.reason,
        code: escalation.code,
        message: escalation.message,
        opened: timeOf(escalation.openedAt),
        ...(kind === "escalation-closed" && { closed_by: escalation.closedBy }),
      },
    }),
    ...(approval && { approval: approvalOf(approval, plan) }),
    ...(kind === "run-ended" &&
      end && {
        end: {
          state: end.state,
          reason: end.reason,
          at: timeOf(end.at),
          summary: endSentence(end),
        },
      }),
  });
}

function approvalOf({ step, deadlineAt }: OutboxApproval, plan: Plan) {
  const planned = plan.steps[step];
  if (planned?.work.kind !== "approval") throw new Error(`step ${step} is no approval`);
  const { work } = planned;
  const { stepId, since } = openApproval(planned, work, deadlineAt, []);
  const form: unknown = work.form?.kind === "json" ? JSON.parse(work.form.json) : null;
  return {
    step: stepId,
    approvers: work.approvers,
    need: work.need,
    not_requester: work.notRequester,
    requested: timeOf(since),
    deadline: timeOf(deadlineAt),
    on_expiry: work.onExpiry,
    form,
  };
}

function timeOf(at: EpochMs): string {
  return new Date(at).toISOString();
}
