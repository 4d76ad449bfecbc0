// docs/RUNBOOKS.md has everything that an operator can be called for: metrics that can show a
// problem, rules of interventions, kinds of questions, lines of the log.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { escalationReasons, rules } from "../server/store/postgres/codes.ts";
import { CATALOGUE, type MetricSpec } from "../server/telemetry/metric-list.ts";

const ROOT = join(import.meta.dirname, "..");
const page = readFileSync(join(ROOT, "docs/RUNBOOKS.md"), "utf8");

/** Those that the page does not name as code. */
function leftOut(names: Iterable<string>): readonly string[] {
  return [...new Set(names)].filter((name) => !new RegExp(`\`${name}[\`{]`).test(page));
}

/** Events of the log, except those of the levels `debug` and `info`. */
function eventsOf(text: string): readonly string[] {
  return [...text.matchAll(/\bevent: "([a-z][^"]*)"/g)].flatMap(({ index, 1: event = "" }) => {
    const call = /log\.(\w+)\(\s*\{\s*$/.exec(text.slice(0, index));
    return call?.[1] === "debug" || call?.[1] === "info" ? [] : [event];
  });
}

describe("the page of runbooks", () => {
  test("has each metric that can show a problem", () => {
    const specs: Readonly<Record<string, MetricSpec>> = CATALOGUE;
    const alarms = Object.entries(specs).filter(([, { wrong }]) => wrong !== undefined);
    expect(alarms.length).toBeGreaterThan(5);
    expect(leftOut(alarms.map(([name]) => name))).toEqual([]);
  });

  test("has each rule of an intervention", () => {
    expect(leftOut(rules.names)).toEqual([]);
  });

  test("has each kind of question", () => {
    expect(leftOut(escalationReasons.names)).toEqual([]);
  });

  test("has each event that a server writes at level warn or error", () => {
    const files = globSync("server/**/*.ts", { cwd: ROOT });
    const events = files.flatMap((file) => eventsOf(readFileSync(join(ROOT, file), "utf8")));
    expect(events).toContain("partitions.unwatched");
    expect(events).not.toContain("partitions.joined");
    expect(new Set(events).size).toBeGreaterThan(15);
    expect(leftOut(events)).toEqual([]);
  });
});
