// The history of webhooks, broken by hand.
import type { Broken, BrokenHistory } from "./damage.ts";

export const BROKEN_WEBHOOKS: readonly BrokenHistory[] = [
  {
    promise: "G1",
    what: "a hook did not get an end",
    break: (history) => {
      history.final.deliveries = history.final.deliveries.filter(({ runId }) => runId !== "q2");
      history.records = history.records.filter((one) => !isAbout(one, "q2"));
    },
    message: /the end of run q2 \(COMPLETED\) was sent to "ends" 0 times, and should be 1/,
  },
  {
    promise: "G1",
    what: "a webhook is stored as delivered, and no receiver got it",
    break: (history) => {
      history.records = history.records.filter((one) => !isAbout(one, "q2"));
    },
    message: /webhook w-q2 to "ends" is stored as delivered; no receiver got it/,
  },
  {
    promise: "G1",
    what: "a webhook did not have the same body each time",
    break: (history) => {
      const [, second] = history.records.filter((one) => isAbout(one, "q1"));
      if (second?.kind === "webhook") second.body = second.body.replace("{", "{ ");
    },
    message: /webhook w-q1 did not have the same body each time/,
  },
  {
    promise: "G1",
    what: "a webhook reports another end than the run had",
    break: (history) => {
      for (const one of history.records)
        if (one.kind === "webhook" && one.id === "w-q2")
          one.body = one.body.replace("COMPLETED", "FAILED");
    },
    message: /webhook w-q2 states that run q2 ended as .*FAILED.*, and it is COMPLETED/,
  },
  {
    promise: "G1",
    what: "a webhook came before the run had ended",
    break: (history) => {
      for (const one of history.records) if (isAbout(one, "q2")) one.at -= 100;
    },
    message: /webhook w-q2 came at \d+, before run q2 had ended/,
  },
  {
    promise: "G14",
    what: "a webhook reports a run of another namespace",
    break: (history) => {
      history.meta.canaries.push({ namespace: "green", word: "canary-green" });
      for (const one of history.records)
        if (one.kind === "webhook" && one.id === "w-q2")
          one.body = one.body.replace("{", '{"canary":"canary-green",');
    },
    message: /webhook w-q2 to a hook of blue holds the canary of green/,
  },
];

function isAbout(record: Broken["records"][number], runId: string): boolean {
  return record.kind === "webhook" && record.id === `w-${runId}`;
}
