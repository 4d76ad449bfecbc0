// The history of webhooks, broken by hand.
import type { Broken, BrokenHistory } from "./damage.ts";

export const BROKEN_WEBHOOKS: readonly BrokenHistory[] = [
  {
    promise: "G1",
    what: "a hook was not told of an end",
    break: (history) => {
      history.final.deliveries = history.final.deliveries.filter(({ runId }) => runId !== "q2");
      history.records = history.records.filter((one) => !isAbout(one, "q2"));
    },
    says: /the end of run q2 \(COMPLETED\) is told "ends" 0 times, and should be 1/,
  },
  {
    promise: "G1",
    what: "a webhook is stored as delivered, and nobody got it",
    break: (history) => {
      history.records = history.records.filter((one) => !isAbout(one, "q2"));
    },
    says: /webhook w-q2 to "ends" is stored as delivered; nobody got it/,
  },
  {
    promise: "G1",
    what: "a webhook did not say the same each time",
    break: (history) => {
      const [, second] = history.records.filter((one) => isAbout(one, "q1"));
      if (second?.kind === "webhook") second.body = second.body.replace("{", "{ ");
    },
    says: /webhook w-q1 did not say the same each time/,
  },
  {
    promise: "G1",
    what: "a webhook tells of another end than the run had",
    break: (history) => {
      for (const one of history.records)
        if (one.kind === "webhook" && one.id === "w-q2")
          one.body = one.body.replace("COMPLETED", "FAILED");
    },
    says: /webhook w-q2 says that run q2 ended as .*FAILED.*, and it is COMPLETED/,
  },
  {
    promise: "G1",
    what: "a webhook came before the run had ended",
    break: (history) => {
      for (const one of history.records) if (isAbout(one, "q2")) one.at -= 100;
    },
    says: /webhook w-q2 came at \d+, before run q2 had ended/,
  },
  {
    promise: "G14",
    what: "a webhook tells of another namespace",
    break: (history) => {
      history.meta.canaries.push({ namespace: "green", word: "canary-green" });
      for (const one of history.records)
        if (one.kind === "webhook" && one.id === "w-q2")
          one.body = one.body.replace("{", '{"canary":"canary-green",');
    },
    says: /webhook w-q2 to a hook of blue holds the canary of green/,
  },
];

function isAbout(record: Broken["records"][number], runId: string): boolean {
  return record.kind === "webhook" && record.id === `w-${runId}`;
}
