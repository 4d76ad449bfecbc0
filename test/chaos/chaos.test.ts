// The short form of `npm run chaos`, with a fixed seed: real servers, supervisors, a database with
// a standby, and agents in three languages, under some faults of each main kind. The checker of the
// simulation decides on what really happened, and must refuse that history once it is changed.
import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkHistory } from "../simulation/checker/check-history.ts";
import type { History } from "../simulation/history.ts";
import { makeTestFolder } from "../support/global-postgres.ts";
import { endForLack, isRequired } from "../support/required-tools.ts";
import { LANGUAGES, prepareAgents } from "./languages.ts";
import { preparePreload } from "./preloaded.ts";
import { reportText } from "./report.ts";
import { runChaos } from "./run-chaos.ts";
import { boundsOf } from "./stored-history.ts";
import { TAMPERINGS } from "./tampered-histories.ts";

const SEED = 1;
const MS_MAX = 480_000;

describe("real processes under faults", () => {
  let history: History | null = null;

  test("keep every promise", { timeout: MS_MAX }, async (context) => {
    const agents = await prepareAgents(LANGUAGES);
    if (agents.kind === "missing") return endForLack(context, agents.tool, agents.why);
    const preload = await preparePreload();
    // Without it there are no faults of disks and clocks, and all others.
    if (preload.kind === "missing" && isRequired("cc")) throw new Error(preload.why);
    const folder = makeTestFolder();
    const lines: string[] = [];
    const { report, history: recorded } = await runChaos({
      seed: SEED,
      plan: { kind: "short" },
      openMax: 10,
      folder,
      agents: agents.commands,
      preload,
      log: (line) => lines.push(line),
    });
    history = recorded;
    const text = `${lines.join("\n")}\n${reportText(report)}\neverything is in ${folder}`;
    expect(report.violations, text).toEqual([]);
    expect(report.void, text).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });

  test.for(TAMPERINGS)("the checker sees that $what", ({ promise, message, tamper }, context) => {
    if (!history) return context.skip("nothing was recorded");
    const changed = tamper(history);
    const found = checkHistory(changed, boundsOf(changed)).filter((one) => one.promise === promise);
    expect(found.map(({ text }) => text).join("\n")).toMatch(message);
  });
});
