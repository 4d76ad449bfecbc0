/** For how long a repeated call of a trigger is known: 24 hours, and until its run has ended. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { textAt } from "../../support/json-call.ts";
import { runSchemas } from "../../support/test-shards.ts";
import { type Hand, openHand } from "../control-plane/hand.ts";
import { SECRET, triggerServer } from "./fixture.ts";

const drover = triggerServer();
let hand: Hand;

beforeAll(async () => {
  hand = await openHand(drover.server.connectionString);
});
afterAll(() => hand?.close());

/** As if its calls were so much older. An update on Citus subtracts no interval from a column. */
async function age(key: string, by: string): Promise<void> {
  for (const schema of runSchemas)
    await hand.query(
      `with aged as materialized (
         select namespace_id, key, expires_at - $2::interval as at
         from ${schema}.idempotency where key = $1
       )
       update ${schema}.idempotency as i set expires_at = a.at from aged as a
       where i.namespace_id = a.namespace_id and i.key = a.key`,
      [key, by],
    );
}

async function deploying(name: string): Promise<() => Promise<string>> {
  await drover.workflow("deploy");
  await drover.put(
    `trigger: ${name}
http:
  hmac: { header: X-Hub-Signature-256, prefix: "sha256=" }
schedule: { workflow: deploy, key: "${name}-\${body.id}" }
`,
    SECRET,
  );
  return async () => {
    const { status, body } = await drover.signed(name, { id: 1 });
    expect(status).toBe(200);
    return textAt(body, "run_id");
  };
}

test("a repeat within 24 hours is the same run, though that has ended; a later one is another", async () => {
  const call = await deploying("daily");
  const runId = await call();
  await drover.client.cancelRun(runId);
  expect(await drover.client.waitRun(runId)).toMatchObject({ state: "CANCELLED" });
  await age("daily-1", "23 hours 59 minutes");
  expect(await call()).toBe(runId);
  await age("daily-1", "1 minute");
  const next = await call();
  expect(next).not.toBe(runId);
  await age("daily-1", "23 hours 59 minutes");
  expect(await call()).toBe(next);
});

test("a repeat after 24 hours is the same run while that is open", async () => {
  const call = await deploying("slow");
  const runId = await call();
  await age("slow-1", "48 hours");
  expect(await call()).toBe(runId);
});
