/**
 * The fuzzer (`npm run fuzz`), briefly and with one seed: a real server on a real PostgreSQL
 * survives what it sends. And a test of the fuzzer: it finds a fault that is planted.
 */
import { describe, expect, it } from "vitest";
import { TEXT_KINDS } from "./direct.ts";
import { KINDS } from "./findings.ts";
import { replay } from "./replay.ts";
import { type FuzzOptions, fuzz } from "./rounds.ts";
import { rpcNames } from "./rpc.ts";

const BRIEF: FuzzOptions = {
  seed: 20_260_101,
  minutes: 0,
  kinds: KINDS,
  perRound: 90,
  print: () => undefined,
};

/** It takes some 20 s; a busy machine takes minutes. */
const TIMEOUT_MS = 600_000;

describe("a server that gets malformed and hostile input", () => {
  it(
    "answers all of it with errors that a caller may see, stays quick, and works on",
    async () => {
      const report = await fuzz(BRIEF);
      expect(report.findings.map(({ why }) => why)).toEqual([]);
      // A run in which little happened shows nothing.
      for (const kind of KINDS) expect(report.counts[kind], kind).toBeGreaterThanOrEqual(90);
      for (const kind of TEXT_KINDS)
        expect(report.counts[`${kind} direct`], kind).toBeGreaterThanOrEqual(40);
      expect(report.rpcs).toBe(rpcNames.length);
      expect(report.rpcsDone.length).toBeGreaterThan(rpcNames.length / 3);
    },
    TIMEOUT_MS,
  );
});

describe("the fuzzer", () => {
  it(
    "finds a call that fails inside the server, and names the call so that it can be repeated",
    async () => {
      const report = await fuzz({
        ...BRIEF,
        kinds: ["rpc"],
        perRound: 120,
        // From then on each statement that reads hooks fails.
        fault: "alter table drover.hook rename to mislaid",
      });
      const internal = report.findings.find(({ why }) => why.startsWith("answered INTERNAL"));
      expect(internal?.sent[0]).toMatchObject({ kind: "rpc", seed: BRIEF.seed, round: 0 });
      expect(internal?.sent[0]?.what).toMatch(/Hook|Schedule|Deliver|Run/);
      const statement = report.findings.filter(({ why }) => why.includes('"drover.hook" does not'));
      expect(statement).not.toEqual([]);
      expect(report.findings.some(({ why }) => why.includes("was answered INTERNAL"))).toBe(true);
      if (!internal) throw new Error("nothing was found");
      // The next server has its table.
      expect(await replay(internal, () => undefined)).toBe(0);
    },
    TIMEOUT_MS,
  );
});
