// Tests of the handlers, without a server: npm test
import assert from "node:assert/strict";
import { test } from "node:test";
import { runHandler } from "@drover/sdk/testing";
import { chargeCard, reserveSeat } from "./tasks.ts";

await test("a seat is reserved", async () => {
  const outcome = await runHandler(reserveSeat);
  assert.partialDeepStrictEqual(outcome, { kind: "success", output: { seat: "12A" } });
});

await test("each try charges under the same key", async () => {
  const outcome = await runHandler(chargeCard, {
    input: { card: "visa" },
    idempotencyKey: "key-7",
    attempt: 2,
  });
  assert.partialDeepStrictEqual(outcome, { kind: "success", output: { charge: "key-7" } });
});

await test("without a card nothing is charged, and no retry follows", async () => {
  const outcome = await runHandler(chargeCard, { input: { card: "none" } });
  assert.partialDeepStrictEqual(outcome, { kind: "failed", code: "no-card", transient: false });
});
