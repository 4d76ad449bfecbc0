/** The text form of a filter of runs: what each condition means, and where a mistake is. */
import { expect, test } from "vitest";
import { readRunQuery } from "../../server/api/run/run-query.ts";
import type { RunFilter } from "../../server/store/lists.ts";

const NOW = Date.parse("2026-11-28T12:00:00Z");
const HOUR_MS = 3_600_000;
const ID = "01890000-0000-7000-8000-000000000000";

test.each<[string, Partial<RunFilter>]>([
  ["", {}],
  ["  ", {}],
  ["state:failed", { states: ["FAILED"] }],
  ["state:Failed,CANCELLED", { states: ["FAILED", "CANCELLED"] }],
  ["state:ended", { states: ["COMPLETED", "FAILED", "COMPENSATED", "CANCELLED"] }],
  ["waits:approval,signal", { substates: ["approval", "signal"] }],
  ["workflow:order-2", { workflow: "order-2" }],
  ["step:hotel error:sold-out", { failure: { step: "hotel", code: "sold-out" } }],
  ["error:sold-out step:hotel", { failure: { step: "hotel", code: "sold-out" } }],
  ["error:drover.timeout", { failure: { step: null, code: "drover.timeout" } }],
  ["key:order-17", { key: { kind: "is", key: "order-17" } }],
  ["key^:order-", { key: { kind: "prefix", prefix: "order-" } }],
  ["key:a/b?c#d:e>f", { key: { kind: "is", key: "a/b?c#d:e>f" } }],
  ['key:"two words"', { key: { kind: "is", key: "two words" } }],
  [
    String.raw`key:"a \"quoted\" \\ word"`,
    { key: { kind: "is", key: String.raw`a "quoted" \ word` } },
  ],
  ["label.tenant=acme", { labels: { tenant: "acme" } }],
  ["label.tenant:acme label.x.y=a=b", { labels: { tenant: "acme", "x.y": "a=b" } }],
  [`parent:${ID}`, { parent: ID }],
  ["created>2026-11-01", { createdAfter: Date.parse("2026-11-01T00:00:00Z") }],
  ["created>=2026-11-01T12:00", { createdAfter: Date.parse("2026-11-01T12:00:00Z") }],
  ["created<2026-11-01T12:00+01:00", { createdBefore: Date.parse("2026-11-01T11:00:00Z") }],
  ["ended>now-2h ended<now", { endedAfter: NOW - 2 * HOUR_MS, endedBefore: NOW }],
  ["  workflow:order   state:failed ", { workflow: "order", states: ["FAILED"] }],
])("%s", (text, filter) => {
  expect(readRunQuery(text, NOW)).toEqual({ kind: "read", filter });
});

test("`open` stands for every state in which a run has not ended", () => {
  const read = readRunQuery("state:open", NOW);
  expect(read.kind === "read" && [...(read.filter.states ?? [])].sort()).toEqual([
    "COMPENSATING",
    "ESCALATED",
    "FINISHING",
    "PAUSED",
    "PENDING",
    "RUNNING",
    "STOPPING",
  ]);
});

test.each<[string, number, RegExp]>([
  ["tenant", 1, /"tenant" is no condition: write FIELD:VALUE/],
  ["state:failed acme", 14, /"acme" is no condition/],
  ["state:FALED", 7, /"FALED" is no state of a run: use one of open, ended, pending/],
  ["state:failed,FALED", 14, /"FALED"/],
  ["state:retry", 7, /"retry" is no state of a run: write waits:retry/],
  ["state:", 7, /state: needs a value/],
  ["waits:approval,payment", 16, /does not wait for "payment": use one of working, agent/],
  ["wokflow:order", 1, /there is no field "wokflow": use one of state, waits, workflow/],
  ["workflow:a/b", 10, /"a\/b" must be 1 to 128 characters/],
  ["workflow^:a", 9, /"workflow" does not take "\^:": write workflow:VALUE/],
  ["key>a", 4, /"key" does not take ">": write key:VALUE or key\^:VALUE/],
  ['key:"open', 5, /the quote after key: is not closed/],
  ['key:"a"b', 5, /or something follows it/],
  ['key:a"b', 5, /needs a value; write one with spaces or quotes/],
  ["label.=a", 1, /a label has a name/],
  ["label.a=1 label.a=2", 11, /"label.a" is given twice/],
  ["state:failed state:open", 14, /"state" is given twice/],
  ["error:a error:b", 9, /"error" is given twice/],
  ["created>now created>now", 13, /"created" is given twice/],
  ["parent:r1", 8, /"r1" is no id of a run/],
  ["created:2026-11-01", 8, /"created" does not take ":"/],
  ["ended<=now", 6, /"ended" does not take "<=": write ended>VALUE/],
  ["ended>yesterday", 7, /"yesterday" is no time: write 2026-11-01/],
  ["ended>2026-13-01", 7, /is no time/],
  ["ended>now-2x", 7, /is no time/],
])("%s is refused at column %i", (text, column, message) => {
  expect(readRunQuery(text, NOW)).toEqual({
    kind: "unreadable",
    column,
    message: expect.stringMatching(message),
  });
});
