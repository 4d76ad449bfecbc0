// Outcomes that an agent, or the holder of a callback token, reports in tests of the rules.
import type { Outcome } from "../../server/core/model/attempt.ts";
import type { Reported } from "../../server/core/model/event.ts";

export type ReportedOutcome = Reported;

export type CallbackOutcome = Extract<Outcome, { kind: "success" | "failure" }>;

export const success = (output = "{}"): ReportedOutcome => ({
  kind: "success",
  output: { kind: "json", json: output },
});

export const failure = (
  code: string,
  more: { permanent?: boolean; retryAfterMs?: number; noEffect?: boolean } = {},
): ReportedOutcome => ({
  kind: "failure",
  class: more.permanent ? "permanent" : "transient",
  code,
  message: `it failed with ${code}`,
  retryAfterMs: more.retryAfterMs ?? null,
  noEffect: more.noEffect ?? false,
});

/** What a caller with a callback token may report. */
export const calledBack: Readonly<Record<"success" | "failure", CallbackOutcome>> = Object.freeze({
  success: { kind: "success", output: { kind: "json", json: '"called"' } },
  failure: {
    kind: "failure",
    class: "transient",
    code: "busy",
    message: "it was busy",
    retryAfterMs: null,
    noEffect: false,
  },
});

/** A failure that no retry can avoid. */
export const broken: ReportedOutcome = failure("broken", { permanent: true });

/** What a verify reports of an effect that did not happen. */
export const nothingThere: ReportedOutcome = failure("nothing-there", { noEffect: true });

export const unknown = (code = "drover.unknown"): ReportedOutcome => ({
  kind: "unknown",
  code,
  message: "the outcome is unknown",
});

export const again = (afterMs = 1_000): ReportedOutcome => ({ kind: "again", afterMs });

export const deferred: ReportedOutcome = { kind: "deferred" };

export const released: ReportedOutcome = { kind: "released" };

export const cancelled = (more: { noEffect?: boolean } = {}): ReportedOutcome => ({
  kind: "cancelled",
  noEffect: more.noEffect ?? false,
});
