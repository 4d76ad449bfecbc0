// docs/reference is what `npm run generate` writes, and what its pages say is true of the server.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ERROR_DETAILS } from "../docs/error-details.ts";
import { referenceFolder, referencePages } from "../docs/reference-pages.ts";
import { readTree } from "./support/tree.ts";

const expected = await referencePages();
const page = (name: string) => expected.get(name) ?? "";

describe("the folder docs/reference", () => {
  test("has the pages that `npm run generate` writes, and no others", () => {
    const there = globSync("**/*.md", { cwd: referenceFolder }).sort();
    expect(there).toEqual([...expected.keys()].sort());
  });

  test.for([...expected.keys()])("%s is what `npm run generate` writes", (name) => {
    expect(readFileSync(join(referenceFolder, name), "utf8")).toBe(expected.get(name));
  });
});

describe("the pages of the API", () => {
  test("have each call with its roles", () => {
    expect(page("api/README.md")).toContain(
      "[CancelRun](scheduler-service.md#cancelrun) | client, operator, admin | named |",
    );
    expect(page("api/scheduler-service.md")).toMatch(
      /^### CancelRun\n\nTakes \[CancelRunRequest\]/m,
    );
  });

  test("have each field with its type, comment and limits", () => {
    const [row = ""] = /^\| `priority`<br>.*$/m.exec(page("api/scheduler-service.md")) ?? [];
    expect(row).toMatch(/<br>int32 \| -?[\d,]+ to [\d,]+ \| .+ \|$/);
  });
});

describe("the page of settings", () => {
  test("has option, variable, default and range", () => {
    expect(page("SETTINGS.md")).toContain(
      "| `--owner-lost <duration>`<br>`DROVER_OWNER_LOST` | 3 s | 1 s to 1 min |",
    );
    expect(page("SETTINGS.md")).toContain("| `--database-url <url>`<br>`DATABASE_URL` |");
  });
});

describe("the pages of error reasons", () => {
  /** Texts of the server, as patterns; those with few words of their own would match anything. */
  const patterns = readTree()
    .filter(({ path }) => /^server\/.*\.ts$/.test(path))
    .flatMap(({ text }) => text.split("\n"))
    .flatMap((line) => [...line.matchAll(/`([^`\\]{8,})`|"([^"\n\\]{8,})"|'([^'\n\\]{8,})'/g)])
    .map(([, template, double, single]) => template ?? double ?? single ?? "")
    .map((text) => text.split(/\$\{[^}]*\}/))
    .filter((parts) => /[a-z]+ [a-z]+/.test(parts.join("")))
    .map((parts) => ({
      length: parts.join("").length,
      pattern: new RegExp(parts.map((part) => RegExp.escape(part)).join(".*"), "s"),
    }));

  test.for(Object.entries(ERROR_DETAILS))("%s has a sentence of the server", ([, { example }]) => {
    const found = patterns.filter(({ pattern }) => pattern.test(example));
    const longest = Math.max(0, ...found.map(({ length }) => length));
    expect(longest / example.length).toBeGreaterThan(0.3);
  });

  test("say whether to repeat the call", () => {
    expect(page("errors/STORE_UNAVAILABLE.md")).toContain(
      "gRPC code: `UNAVAILABLE`, with RetryInfo",
    );
    expect(page("errors/STORE_UNAVAILABLE.md")).toContain("Repeat it unchanged, with backoff");
    expect(page("errors/KEY_REUSED.md")).toContain("fails again");
  });
});
