/** What the messages of databases mean for callers (server/store/postgres/failure.ts). */
import pg from "pg";
import { expect, test } from "vitest";
import { isConnectionLost, storeFailure } from "../../server/store/postgres/failure.ts";

function databaseError(code: string, message: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError(message, message.length, "error"), { code });
}

test("Citus says by its message alone that a node which was to change is away", () => {
  const away = databaseError("XX000", "failure on connection marked as essential: 127.0.0.1:9702");
  expect(isConnectionLost(away)).toBe(true);
  expect(storeFailure(away)).toMatchObject({ reason: "STORE_UNAVAILABLE" });
  const defect = databaseError("XX000", "cache lookup failed for relation 1");
  expect(storeFailure(defect)).toBe(defect);
});
