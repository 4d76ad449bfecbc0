/** What a scan makes of the times that PostgreSQL has answered. */
import { describe, expect, it } from "vitest";
import { dueRows } from "../../server/store/postgres/due.ts";
import { createPageCache } from "../../server/store/postgres/page-cache.ts";
import type { Query } from "../../server/store/postgres/transaction.ts";

const NOW = 1_767_225_600_000;
const ASKED = { limit: 10, since: null, aheadMs: 1_000, polledMs: 1_000 };

/** A scan that finds nothing due, and to which PostgreSQL returned this next wake-up. */
function scan(nextAt: number | null) {
  const query = (async () => [
    { run_id: null, wake_at: nextAt, now: NOW, outside: [] },
  ]) as unknown as Query;
  return dueRows(query, createPageCache(), [1], ASKED);
}

describe("the next time of a scan", () => {
  it("is that of the next wake-up", async () => {
    expect((await scan(NOW + 40)).nextAt).toBe(NOW + 40);
  });

  it("is the next millisecond, where the wake-up is within the present one", async () => {
    expect((await scan(NOW)).nextAt).toBe(NOW + 1);
  });

  it("is none, where no wake-up is near", async () => {
    expect((await scan(null)).nextAt).toBeNull();
  });
});
