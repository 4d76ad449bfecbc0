/** How long a client repeats failed calls: counted from the first failure, not from the call. */
import { expect, it } from "vitest";
import { repeat } from "../../sdk/typescript/backoff.ts";
import { DroverCallError } from "../../sdk/typescript/call-error.ts";
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
