// The shapes of the acts that a scenario file may script: their settings, and what each is for.
import { choice, oneOf } from "./choice-shape.ts";
import { optional, required } from "./record-shape.ts";
import { type Act, type FailAct, type SucceedAct, WORK_MS } from "./scenario.ts";
import { anything, flag, matching, share, text, time } from "./shape.ts";

const CODE = matching("a code", /^[A-Za-z0-9._-]{1,128}$/, "SOLD_OUT");
const after = optional(time, "how long it works before that; 1s if nothing is said", WORK_MS);
const output = optional(anything, "what it reports; none if nothing is said", null);
const effect = (about: string, byDefault = false) => optional(flag, about, byDefault);
const DONE = "true: the remote service has done it all the same";

const succeed = choice(
  "does what it was asked to, and says so",
  { output, after },
  ({ output: given, after: afterMs }): SucceedAct => ({ kind: "succeed", output: given, afterMs }),
);

const fail = choice(
  "reports a failure, under the same key retried as `retry` says",
  {
    code: required(CODE, "the error code, by which `retry.on` tells failures apart"),
    message: optional(text, "in words", ""),
    permanent: optional(flag, "true: no retry helps", false),
    no_effect: optional(flag, "true: it is sure that nothing was done", false),
    retry_after: optional(time, "the remote service says when to come back", null),
    effect: effect("true: the remote service has done some of it, and it is there to be undone"),
    after,
  },
  (given): FailAct => ({
    kind: "fail",
    code: given.code,
    message: given.message,
    permanent: given.permanent,
    noEffect: given.no_effect,
    retryAfterMs: given.retry_after,
    effect: given.effect,
    afterMs: given.after,
  }),
  "code",
);

const ANSWER = oneOf("an answer", { succeed, fail }, {}, (act: SucceedAct | FailAct) => act);
const answer = (about: string) =>
  optional(ANSWER, about, { kind: "succeed", output: null, afterMs: 0 } satisfies SucceedAct);

const unknown = (about: string, isDone: boolean) =>
  choice(
    about,
    { code: optional(CODE, "an error code; none if nothing is said", ""), after },
    ({ code, after: afterMs }): Act => ({ kind: "unknown", effect: isDone, code, afterMs }),
  );

/** "never", or a duration. */
const DELAY = {
  ...time,
  says: "`never`, or a duration",
  schema: { anyOf: [{ enum: ["never"] }, time.schema] },
  read: ((node, path, reading) =>
    "value" in node && node.value === "never"
      ? NEVER
      : time.read(node, path, reading)) satisfies typeof time.read,
};
const NEVER = -1;

export const ACT = oneOf(
  "an act",
  {
    succeed,
    fail,
    "lose-answer": unknown(
      "the remote service does it, and its answer is lost: the agent reports that it does not know",
      true,
    ),
    "lose-request": unknown(
      "the remote service was never asked, and the agent does not know that. Of a verify: it cannot tell",
      false,
    ),
    hang: choice(
      "goes on and on, with progress, and does not listen when it is told to stop: its attempt times out",
      { effect: effect(DONE) },
      ({ effect: isDone }): Act => ({ kind: "hang", effect: isDone, progress: null }),
    ),
    stall: choice(
      "beats on, and its progress stands still: `timeouts.stall` finds it",
      {
        at: optional(share, "where it stands; 47 % if nothing is said", 0.47),
        effect: effect(DONE),
      },
      ({ at, effect: isDone }): Act => ({ kind: "hang", effect: isDone, progress: at }),
      "at",
    ),
    freeze: choice(
      "falls silent: its lease is lost. After `for` it is back, and answers whatever has become of its task",
      {
        for: optional(time, "how long; for ever if nothing is said", null),
        answer: answer("what it does then; `succeed` if nothing is said"),
        effect: effect(DONE),
      },
      ({ for: forMs, answer: next, effect: isDone }): Act => ({
        kind: "freeze",
        effect: isDone,
        resumes: forMs === null ? null : { forMs, answer: next },
      }),
      "for",
    ),
    "answer-late": choice(
      "does it, falls silent, and reports its success when its lease is lost",
      {
        by: optional(time, "so long after its lease has ended; 1s if nothing is said", WORK_MS),
        output,
      },
      ({ by: byMs, output: given }): Act => ({ kind: "answer-late", output: given, byMs }),
      "by",
    ),
    crash: choice(
      "its process dies",
      { after, effect: effect(DONE) },
      ({ after: afterMs, effect: isDone }): Act => ({ kind: "crash", effect: isDone, afterMs }),
      "after",
    ),
    defer: choice(
      "hands it to somebody who will call back",
      {
        callback: required(DELAY, "how much later the callback comes, or `never`"),
        answer: answer("what the callback says; `succeed` if nothing is said"),
        effect: effect("true: it was done, also where nobody ever calls back"),
        after,
      },
      ({ callback, answer: next, effect: isDone, after: afterMs }): Act => ({
        kind: "defer",
        effect: isDone,
        afterMs,
        callback: callback === NEVER ? null : { inMs: callback, answer: next },
      }),
      "callback",
    ),
    again: choice(
      "asks to be asked again later, as who polls a slow service",
      { in: required(time, "how much later") },
      ({ in: inMs }): Act => ({ kind: "again", inMs }),
      "in",
    ),
    release: choice("gives the task back untouched", {}, (): Act => ({ kind: "release" })),
    check: choice(
      "of a verify: says whether the effect is there. What a verify does if nothing is said",
      { after },
      ({ after: afterMs }): Act => ({ kind: "check", afterMs }),
    ),
  },
  {},
  (act: Act) => act,
);
