/**
 * The books of remote services: one file of JSON lines, each a fact, written before any caller is
 * notified of it. What is there is what happened, whatever the callers believe.
 *
 * No fsync: the file outlives the process, and it need not outlive the machine.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export interface Fact {
  /** Name of the service that did it. */
  readonly service: string;
  /** What was done, in the past tense: "captured". */
  readonly did: string;
  /** What it was done for, as the caller names it: "payment-3". */
  readonly ref: string;
  /** The idempotency key that came with the request. */
  readonly key: string;
  /** Amounts, names and ids. */
  readonly what: Readonly<Record<string, unknown>>;
}

export interface Books {
  readonly all: () => readonly Fact[];
  readonly write: (fact: Fact) => Fact;
  /** The fact that is there already under the same key, or the new one. */
  readonly once: (fact: Fact) => Fact;
  readonly find: (service: string, did: string, ref: string) => readonly Fact[];
}

/** One process at a time writes a file. */
export function openBooks(file: string): Books {
  const facts: Fact[] = [...readBooks(file)];

  function write(fact: Fact): Fact {
    appendFileSync(file, `${JSON.stringify(fact)}\n`);
    facts.push(fact);
    return fact;
  }

  return Object.freeze({
    all: () => facts,
    write,
    once(fact: Fact): Fact {
      const { service, did, key } = fact;
      const before = facts.find(
        (one) => one.service === service && one.did === did && one.key === key,
      );
      return before ?? write(fact);
    },
    find: (service: string, did: string, ref: string) =>
      facts.filter((one) => one.service === service && one.did === did && one.ref === ref),
  });
}

export function readBooks(file: string): readonly Fact[] {
  if (!existsSync(file)) return [];
  // What follows the last line end is being written: no caller was notified of it yet.
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line, index) => readFact(line, index + 1));
}

function readFact(line: string, lineNumber: number): Fact {
  const value: unknown = JSON.parse(line);
  if (typeof value === "object" && value !== null) {
    const { service, did, ref, key, what }: Readonly<Record<string, unknown>> = { ...value };
    if (isText(service) && isText(did) && isText(ref) && isText(key) && isObject(what))
      return { service, did, ref, key, what: { ...what } };
  }
  throw new Error(`line ${lineNumber} of the books is no fact: ${line.slice(0, 80)}`);
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
