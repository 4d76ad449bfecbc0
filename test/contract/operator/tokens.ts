/**
 * API tokens: stored by the digest of their secret, found by it with what a call is evaluated by,
 * listed by id, and revoked once.
 */
import { expect, test } from "vitest";
import { newApiToken } from "../../../server/api/auth/api-token.ts";
import { systemRandom } from "../../../server/clock.ts";
import type { Store } from "../../../server/store/store.ts";
import type { NewToken } from "../../../server/store/tokens.ts";
import { newNamespace, type Opened } from "../fixture.ts";

export function describeTokens(opened: Opened<Store>): void {
  const store = (): Store => opened().store;
  const make = async (over: Partial<NewToken> = {}) => {
    const { id, digest } = newApiToken(systemRandom);
    const namespaceId = over.namespaceId ?? (await newNamespace(store()));
    const settings = { name: "booking", role: "client", queues: [], madeBy: "ada", validMs: null };
    const token: NewToken = { id, digest, ...settings, ...over, namespaceId } as NewToken;
    return { token, namespaceId, record: await store().tokens.create(token) };
  };
  const ids = async (namespaceId: number, ended: boolean) => {
    const page = { namespaceId, ended, after: null, limit: 10 };
    return (await store().tokens.list(page)).map(({ id }) => id);
  };

  test("a token is found by the digest of its secret, and by no other", async () => {
    const { token, record } = await make({ role: "agent", queues: ["travel", "cars"] });
    const { id, digest, name } = token;
    expect(await store().tokens.find([digest, "00".repeat(32)])).toEqual([
      {
        digest,
        id,
        name,
        role: "agent",
        queues: ["travel", "cars"],
        namespace: record.namespace,
        leftMs: null,
        revoked: false,
        useIsStale: true,
      },
    ]);
    expect(record).toMatchObject({ id, name, madeBy: "ada", expiresAt: null, usedAt: null });
    expect(record).not.toHaveProperty("digest");
  });

  test("it has the time for which it is still good, by the clock of the store", async () => {
    const { token, record } = await make({ validMs: 60_000 });
    expect(record.expiresAt).toBe(record.madeAt + 60_000);
    const [found] = await store().tokens.find([token.digest]);
    expect(found?.leftMs).toBeGreaterThan(0);
    expect(found?.leftMs).toBeLessThanOrEqual(60_000);
  });

  test("one for every namespace names none, and is listed with those of all", async () => {
    const { id, digest } = newApiToken(systemRandom);
    const settings = {
      name: "ops",
      role: "admin",
      queues: [],
      madeBy: "ada",
      validMs: null,
    } as const;
    const record = await store().tokens.create({ id, digest, ...settings, namespaceId: null });
    expect(record.namespace).toBeNull();
    const page = { namespaceId: null, ended: true, after: null, limit: 1_000 };
    expect((await store().tokens.list(page)).map((one) => one.id)).toContain(id);
    expect((await store().tokens.find([digest]))[0]?.namespace).toBeNull();
  });

  test("a revoked token is found as such, keeps who revoked it first, and is listed when asked for", async () => {
    const { token, namespaceId } = await make();
    const other = await make({ namespaceId });
    expect(await store().tokens.revoke(token.id, "bob", await newNamespace(store()))).toBeNull();
    const revoked = await store().tokens.revoke(token.id, "bob", namespaceId);
    expect(revoked).toMatchObject({ revokedBy: "bob", revokedAt: expect.any(Number) });
    expect(await store().tokens.revoke(token.id, "eve", null)).toEqual(revoked);
    expect((await store().tokens.find([token.digest]))[0]?.revoked).toBe(true);
    expect(await ids(namespaceId, false)).toEqual([other.token.id]);
    expect(await ids(namespaceId, true)).toEqual([token.id, other.token.id].sort());
  });

  test("pages go by id", async () => {
    const { namespaceId } = await make();
    for (let n = 0; n < 4; n++) await make({ namespaceId });
    const all = await ids(namespaceId, false);
    const [first = "", second = ""] = all;
    expect(all).toEqual([...all].sort());
    const page = { namespaceId, ended: false, after: first, limit: 1 };
    expect((await store().tokens.list(page)).map(({ id }) => id)).toEqual([second]);
  });

  test("its use is noted, and not again while the note is young", async () => {
    const { token, namespaceId } = await make();
    await store().tokens.noteUse([token.id, "0".repeat(16)]);
    const page = { namespaceId, ended: false, after: null, limit: 1 };
    const [noted] = await store().tokens.list(page);
    expect(noted?.usedAt).toEqual(expect.any(Number));
    expect((await store().tokens.find([token.digest]))[0]?.useIsStale).toBe(false);
    await store().tokens.noteUse([token.id]);
    expect((await store().tokens.list(page))[0]?.usedAt).toBe(noted?.usedAt);
  });
}
