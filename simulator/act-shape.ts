// The shapes of the acts that a scenario file may script: their settings, and what each is for.
import { choice, oneOf } from "./choice-shape.ts";
import { optional, required } from "./record-shape.ts";
import { type Act, type FailAct, type SucceedAct, WORK_MS } from "./scenario.ts";
import { anything, flag, matching, share, text, time } from "./shape.ts";

const CODE = matching("a code", /^[A-Za-z0-9._-]{1,128}$/, "SOLD_OUT");
const after = optional(time, "how long it works before that; 1s by default", WORK_MS);
const output = optional(anything, "what it reports; none by default", null);
const effect = (about: string, byDefault = false) => optional(flag, about, byDefault);
const DONE = "true: the remote service has performed it anyway";

const succeed = choice(
  "performs the task and reports success",
  { output, after },
  ({ output: given, after: afterMs }): SucceedAct => ({ kind: "succeed", output: given, afterMs }),
);

const fail = choice(
  "reports a failure; `retry` decides whether it is retried under the same key",
  {
    code: required(CODE, "the error code, which `retry.on` may name"),
    message: optional(text, "in words", ""),
    permanent: optional(flag, "true: no retry helps", false),
    no_effect: optional(flag, "true: nothing was done", false),
    retry_after: optional(time, "the remote service asks for a retry after this time", null),
    effect: effect("true: the remote service has done a part, which has to be undone"),
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
    { code: optional(CODE, "an error code; none by default", ""), after },
    ({ code, after: afterMs }): Act => ({ kind: "unknown", effect: isDone, code, afterMs }),
  );

/** "never", or a duration. */
const DELAY = {
  ...time,
  phrase: "`never`, or a duration",
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
      "the remote service performs it, and its answer is lost: the agent reports an unknown outcome",
      true,
    ),
    "lose-request": unknown(
      "the request never reached the remote service: the agent reports an unknown outcome. Of a verify: it cannot find out",
      false,
    ),
    hang: choice(
      "keeps running, with progress, and ignores the request to stop: its attempt times out",
      { effect: effect(DONE) },
      ({ effect: isDone }): Act => ({ kind: "hang", effect: isDone, progress: null }),
    ),
    stall: choice(
      "sends heartbeats without progress: `timeouts.stall` detects it",
      {
        at: optional(share, "the progress at which it stalls; 47 % by default", 0.47),
        effect: effect(DONE),
      },
      ({ at, effect: isDone }): Act => ({ kind: "hang", effect: isDone, progress: at }),
      "at",
    ),
    freeze: choice(
      "sends nothing: its lease is lost. After `for` it is back, and reports even if its task has moved on",
      {
        for: optional(time, "how long; for ever by default", null),
        answer: answer("what it reports then; `succeed` by default"),
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
      "performs it, sends nothing, and reports its success after its lease is lost",
      {
        by: optional(time, "how long after the end of its lease; 1s by default", WORK_MS),
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
      "hands it to a service that sends the outcome by a callback",
      {
        callback: required(DELAY, "how much later the callback comes, or `never`"),
        answer: answer("what the callback reports; `succeed` by default"),
        effect: effect("true: it was performed, even if no callback comes"),
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
      "asks for the task again later, like an agent that polls a slow service",
      { in: required(time, "how much later") },
      ({ in: inMs }): Act => ({ kind: "again", inMs }),
      "in",
    ),
    release: choice("returns the task unprocessed", {}, (): Act => ({ kind: "release" })),
    check: choice(
      "of a verify: reports whether the effect is there; what a verify does by default",
      { after },
      ({ after: afterMs }): Act => ({ kind: "check", afterMs }),
    ),
  },
  {},
  (act: Act) => act,
);
