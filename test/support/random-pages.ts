/** Any page, as data that fast-check can shrink: what the rules make, and what agents send. */
import fc from "fast-check";
import type {
  Forward,
  Lease,
  LeaseCancel,
  Run,
  Step,
  Undo,
} from "../../server/core/model/model.ts";
import type { Payload } from "../../server/core/model/payload.ts";
import { stepKeyOf } from "../../server/core/model/step-key.ts";
import type {
  Page,
  PageAttempt,
  PageHead,
  PageStep,
  StoredOutcome,
  StoredPayload,
  TaskTerms,
  UnknownKeys,
} from "../../server/core/page/page.ts";
import {
  COUNT,
  ends,
  kind,
  openRuns,
  orNull,
  SESSION,
  stepAt,
  still,
  TIME,
} from "./random-states.ts";

const SECRET = "5ec4e7a0".repeat(4);

/** What agents and people send: any text, also what JSON, lines and UTF-8 treat specially. */
export const texts: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "",
    "\n",
    'a\nb\r\n"c"',
    "\u2028\u2029",
    "\\n",
    '"},\n"1":{',
    "\u0000",
    "}}",
    "naïve ☃ 🂡",
    "\ud800",
    "\udfff lone",
    "\u007f\u0080\ufeff",
    "__proto__",
  ),
);

/** Keys that a later version may write: none of those that this one knows has so many letters. */
const unknownKeys: fc.Arbitrary<UnknownKeys> = fc.dictionary(
  fc.oneof(
    fc.string({ minLength: 3, maxLength: 6 }),
    fc.constantFrom("new", "2026", "con\nst", "__proto__"),
  ),
  // JSON has no -0.
  fc.json({ maxDepth: 2 }).map((text): unknown => JSON.parse(text)),
  { minKeys: 1, maxKeys: 3, noNullPrototype: true },
);
const withUnknown = <T extends object>(
  of: fc.Arbitrary<T>,
): fc.Arbitrary<T & { readonly unknown?: UnknownKeys }> =>
  fc
    .tuple(of, fc.option(unknownKeys, { freq: 4 }))
    .map(([one, unknown]) => (unknown === null ? one : { ...one, unknown }));

export const payloads: fc.Arbitrary<Payload> = fc.oneof(
  fc.record({ kind: kind("json"), json: texts }),
  fc.record({ kind: kind("data"), contentType: texts, data: fc.uint8Array({ maxLength: 256 }) }),
);
const storedPayloads: fc.Arbitrary<StoredPayload> = fc.oneof(
  { weight: 4, arbitrary: payloads },
  { weight: 1, arbitrary: fc.record({ kind: kind("row") }) },
);

const taskKinds = fc.constantFrom("perform" as const, "verify" as const, "compensate" as const);
const attemptKinds = fc.constantFrom(
  ...(["perform", "verify", "compensate", "late", "engine", "answer"] as const),
);
const cancels: fc.Arbitrary<LeaseCancel> = fc.oneof(
  fc.record({ kind: kind("none") }),
  fc.record({ kind: kind("asked"), cause: causes(), at: TIME }),
  fc.record({ kind: kind("received"), cause: causes(), by: TIME }),
);
function causes() {
  return fc.constantFrom("run" as const, "timeout" as const, "stalled" as const);
}

const leases: fc.Arbitrary<Lease> = fc
  .record({
    kind: kind("LEASED"),
    task: taskKinds,
    fence: COUNT,
    attempt: COUNT,
    secret: fc.constant(SECRET),
    session: fc.constant(SESSION),
    agentId: texts,
    pollSeq: COUNT,
    grantedAt: TIME,
    attemptBy: TIME,
    heartbeatMs: COUNT,
    cancelMs: COUNT,
    stallMs: orNull(COUNT),
    progressAt: TIME,
    cancel: cancels,
    suspectAt: orNull(TIME),
    wakeAt: TIME,
  })
  .chain((lease) => fc.constantFrom(lease, { ...lease, progressAt: lease.grantedAt }));

const outcomes: fc.Arbitrary<StoredOutcome> = fc.oneof(
  fc.record({ kind: kind("success"), output: orNull(storedPayloads) }),
  fc.record({
    kind: kind("failure"),
    code: texts,
    message: texts,
    noEffect: fc.boolean(),
    class: fc.constantFrom("transient" as const, "permanent" as const),
    retryAfterMs: orNull(COUNT),
  }),
  fc.record({ kind: kind("unknown"), code: texts, message: texts }),
  fc.record({ kind: kind("again"), afterMs: COUNT }),
  fc.record({ kind: kind("cancelled"), noEffect: fc.boolean() }),
  still("deferred", "released", "undelivered", "unsent", "superseded"),
);

const attempts: fc.Arbitrary<PageAttempt> = withUnknown(
  fc.record({
    kind: attemptKinds,
    fence: COUNT,
    n: fc.nat({ max: 3 }),
    attempt: COUNT,
    agentId: orNull(texts),
    startedAt: TIME,
    endedAt: TIME,
    outcome: outcomes,
    session: orNull(fc.constant(SESSION)),
    secret: orNull(fc.constant(SECRET)),
    digest: orNull(fc.constant("d16e57")),
    counted: orNull(fc.record({ policy: orNull(fc.nat({ max: 3 })) })),
    progress: orNull(texts),
    details: orNull(storedPayloads),
  }),
);

export const terms: fc.Arbitrary<TaskTerms> = fc.record({
  lane: fc.nat(),
  attemptMs: COUNT,
  heartbeatMs: COUNT,
  cancelMs: COUNT,
  stallMs: orNull(COUNT),
  slowAfterMs: orNull(COUNT),
  isFirstTry: fc.boolean(),
});

/** Beside those of random-states.ts: leases, maps, and what waits for other runs. */
const otherSides: fc.Arbitrary<{ readonly forward: Forward; readonly undo: Undo }> = fc.oneof(
  leases.map((forward) => ({ forward, undo: { kind: "NONE" } as const })),
  leases.map((undo) => ({ forward: { kind: "UNDOING" } as const, undo })),
  fc.constant({ forward: { kind: "MAPPING" }, undo: { kind: "MAPPING" } } as const),
  fc
    .record({
      kind: kind("WAITING"),
      on: fc.constantFrom("child-end" as const, "items" as const),
      wakeAt: TIME,
    })
    .map((forward) => ({ forward, undo: { kind: "NONE" } as const })),
);

export function stepsAt(stepNo: number): fc.Arbitrary<Step> {
  const plain = stepAt(stepNo);
  return fc.oneof(
    plain,
    fc.tuple(plain, otherSides).map(([step, sides]): Step => ({ ...step, ...sides })),
    plain.map(
      (step): Step => ({
        ...step,
        strategies: [{ planned: 0, changed: false, effectStatus: "NONE" }],
      }),
    ),
  );
}

function pageStepsAt(stepNo: number): fc.Arbitrary<PageStep> {
  return withUnknown(
    fc.record({
      step: stepsAt(stepNo),
      terms: orNull(terms),
      progress: orNull(texts),
      details: orNull(storedPayloads),
      attempts: fc.array(attempts, { maxLength: 8 }),
      logged: fc.constantFrom(0, 0, 1, 70),
    }),
  );
}

export const runs: fc.Arbitrary<Run> = fc
  .record({
    run: openRuns,
    version: fc.nat(),
    end: orNull(ends),
    parent: orNull(
      fc.record({
        runId: texts,
        step: COUNT,
        fence: COUNT,
        depth: COUNT,
        until: orNull(TIME),
      }),
    ),
  })
  .map(({ run, version, end, parent }) => ({ ...run, version, parent, state: end ?? run.state }));

const heads: fc.Arbitrary<PageHead> = withUnknown(
  fc.record({
    namespaceId: fc.nat(),
    definitionId: fc.nat(),
    priority: fc.integer({ min: 1, max: 9 }),
    run: runs,
    endedAt: orNull(TIME),
    cancelNote: orNull(texts),
    hasMore: fc.boolean(),
  }),
);

/** Page 0 with a head and steps, a page of later steps, or the page of an item. */
export const pages: fc.Arbitrary<Page> = fc.oneof(
  fc
    .tuple(heads, fc.uniqueArray(fc.nat({ max: 31 }), { maxLength: 4 }))
    .chain(([head, places]) =>
      fc.tuple(...places.map(pageStepsAt)).map((steps) => page(0, head, steps)),
    ),
  fc.tuple(pageStepsAt(40), pageStepsAt(33)).map((steps) => page(1, null, steps)),
  pageStepsAt(stepKeyOf(3, 7)).map((step) => page(stepKeyOf(3, 7), null, [step])),
);

function page(no: number, head: PageHead | null, steps: readonly PageStep[]): Page {
  return { no, head, steps: new Map(steps.map((one) => [one.step.no, one])) };
}
