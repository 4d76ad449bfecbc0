// Tests that cannot hold on Citus are skipped there; `why` is one sentence, which the run prints.
import { beforeAll, beforeEach, type TestContext } from "vitest";
import { citusUrl } from "./citus.ts";

export function skipOnCitus(context: TestContext, why: string): void {
  if (citusUrl !== undefined) context.skip(`on Citus: ${why}`);
}

/** For all tests of a file or group: nothing is prepared for them. */
export function beforeAllButCitus(why: string, prepare: () => Promise<unknown>): void {
  beforeAll(async () => {
    if (citusUrl === undefined) await prepare();
  });
  beforeEach((context) => skipOnCitus(context, why));
}

export const PLANS = "it reads plans of statements, and Citus shows its own, of its shards";
