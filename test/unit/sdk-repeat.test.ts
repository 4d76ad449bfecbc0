/** How long a client repeats failed calls: counted from the first failure, not from the call. */
import { expect, it } from "vitest";
import { repeat } from "../../sdk/typescript/backoff.ts";
import { DroverCallError } from "../../sdk/typescript/call-error.ts";
import { createOutage } from "../../sdk/typescript/outage.ts";
import { silentLog } from "../support/agent-script.ts";
import { createManualClock } from "../support/manual-clock.ts";

const away = () => new DroverCallError("UNAVAILABLE", "the server is about to go");

it("a call that fails after a long wait is repeated all the same", async () => {
  const clock = createManualClock();
  let tries = 0;
  const call = async () => {
    if (tries++ > 0) return "answer";
    clock.advance(30_000);
    throw away();
  };
  const repeated = repeat(call, { clock, patienceMs: 30_000 });
  await clock.armed(1_000);
  clock.advance(1_000);
  expect(await repeated).toBe("answer");
  expect(tries).toBe(2);
});

it("failures that continue for longer than its patience are thrown", async () => {
  const clock = createManualClock();
  const call = async () => {
    clock.advance(10_000);
    throw away();
  };
  const repeated = repeat(call, { clock, patienceMs: 10_050 });
  repeated.catch(() => undefined);
  await clock.armed(1_000);
  clock.advance(1_000);
  await expect(repeated).rejects.toThrow("about to go");
});

it("a failure that is repeated is logged once until the next answer, and none that is thrown", async () => {
  const clock = createManualClock();
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (fields: object, text: string) => lines.push(fields, text) };
  const outage = createOutage(log, 60_000);
  const warning = [
    { code: "UNAVAILABLE", reason: "" },
    "call failed, will be repeated for up to 60000 ms: the server is about to go",
  ];
  const failing = (times: number, patienceMs: number) => {
    let tries = 0;
    const call = async () => {
      if (tries++ < times) throw away();
    };
    return repeat(call, { clock, patienceMs, outage });
  };
  await expect(failing(1, 0)).rejects.toThrow("about to go");
  expect(lines).toEqual([]);
  for (const known of [warning, [...warning, ...warning]]) {
    const repeated = failing(2, 60_000);
    for (const _ of [1, 2]) {
      await clock.armed(1_000);
      clock.advance(1_000);
    }
    await repeated;
    expect(lines).toEqual(known);
  }
});
