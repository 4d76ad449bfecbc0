/** The page that compares Drover with other systems: a source for each row, figures as measured. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const docs = join(import.meta.dirname, "../docs");
const page = readFileSync(join(docs, "COMPARISON.md"), "utf8");
const performance = readFileSync(join(docs, "PERFORMANCE.md"), "utf8");
const SYSTEMS = [
  "Drover",
  "Temporal",
  "Hatchet",
  "Restate",
  "Conductor",
  "Camunda 8",
  "Airflow",
  "Step Functions",
  "DBOS",
];
/** The hosts of the projects' own documentation and source. */
const HOSTS = {
  Temporal: /^(docs\.temporal\.io|docs\.rs\/crate\/temporalio-sdk|github\.com\/temporalio)\//,
  Hatchet: /^(docs\.hatchet\.run|github\.com\/hatchet-dev)\//,
  Restate: /^(docs\.restate\.dev|raw\.githubusercontent\.com\/restatedev)\//,
  Conductor: /^(docs\.conductor-oss\.org|github\.com\/conductor-oss)\//,
  "Camunda 8": /^docs\.camunda\.io\//,
  Airflow: /^(airflow\.apache\.org|github\.com\/apache\/airflow)\//,
  "Step Functions": /^docs\.aws\.amazon\.com\//,
  DBOS: /^(docs\.dbos\.dev|github\.com\/dbos-inc)\//,
} as const;

function section(heading: string): string {
  return page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
}

/** Of a table with a head: its cells, row by row. */
function rows(heading: string): readonly (readonly string[])[] {
  const lines = section(heading).split("\n");
  const cells = lines.filter((line) => line.startsWith("| ")).map((line) => line.split("|"));
  return cells.slice(2).map((row) => row.slice(1, -1).map((cell) => cell.trim()));
}

test("it begins with when not to choose Drover", () => {
  const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading);
  expect(headings[0]).toBe("When not to choose Drover");
  expect(page.split("\n- **").length).toBeGreaterThan(8);
});

test("it says when its sources were read", () => {
  expect(page).toMatch(/read on \d{4}-\d\d-\d\d/);
});

describe.for(["Programming model and operation", "Failures", "People, languages, licence"])(
  "the table %s",
  (heading) => {
    test("has a row for each system, and no empty cell", () => {
      expect(rows(heading).map(([system]) => system)).toEqual(SYSTEMS);
      expect(
        rows(heading)
          .flat()
          .filter((cell) => cell === ""),
      ).toEqual([]);
    });

    test("has a source for each row: the project's own documentation or code", () => {
      for (const [system = "", ...cells] of rows(heading)) {
        const links = [...(cells.at(-1) ?? "").matchAll(/\]\(([^)]+)\)/g)].map(([, to = ""]) => to);
        expect(links.length, system).toBeGreaterThan(0);
        if (!isOther(system)) continue;
        for (const link of links) {
          expect(URL.canParse(link), link).toBe(true);
          expect(link.replace("https://", ""), system).toMatch(HOSTS[system]);
        }
      }
    });
  },
);

test("every address is one of https", () => {
  const links = [...page.matchAll(/\]\((\w+:[^)]+)\)/g)].map(([, to = ""]) => to);
  expect(links.length).toBeGreaterThan(40);
  expect(links.filter((link) => !URL.canParse(link) || !link.startsWith("https://"))).toEqual([]);
});

test("every system has a part of its own, which says when to choose which, and how to run both", () => {
  const parts = section("One by one").split(/^### /m).slice(1);
  expect(parts.map((part) => part.split("\n")[0])).toEqual(SYSTEMS.slice(1));
  for (const part of parts) {
    expect(part).toContain("Choose it ");
    expect(part).toContain("Choose Drover ");
    expect(part).toContain("**Both**");
  }
});

describe("the figures are those of PERFORMANCE.md", () => {
  test.for(rows("Measured by us"))("%s", ([system = "", steps = "", ratio = ""]) => {
    if (system === "Drover") {
      expect(performance).toContain(`Drover does ${steps} steps/s here`);
      return;
    }
    // The page there has more words between the name and the first figure.
    const [name = "", ...words] = system.split(", ");
    const lines = performance.split("\n").filter((line) => line.startsWith(`| ${name} `));
    const line = lines.find((one) => words.every((word) => one.includes(word)));
    expect(line, system).toContain(`| ${steps} | ${ratio} |`);
  });

  test("those in the text, too", () => {
    expect(performance).toContain("| steps/s | 5,318 |");
    expect(page.match(/\b5,318 steps\/s/g)).toHaveLength(1);
    const alone = performance.split("\n").find((line) => line.includes("three steps alone")) ?? "";
    for (const figure of page.match(/\b\d+\.\d ms\b/g) ?? []) expect(alone).toContain(figure);
    expect(page.match(/\b\d+\.\d ms\b/g)).toHaveLength(6);
  });
});

function isOther(system: string): system is keyof typeof HOSTS {
  return Object.hasOwn(HOSTS, system);
}
