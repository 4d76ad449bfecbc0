/** How a statement takes its values: by the names of its parameters. */
import { describe, expect, it } from "vitest";
import { bind, loadStatements, statement } from "../../server/store/postgres/sql.ts";

describe("a statement", () => {
  it("takes its values by name, in any order", () => {
    const { text, values } = bind("find_version", { version: 2, name: "holiday", namespace_id: 1 });
    const { params } = statement("find_version");
    expect([...params].sort()).toEqual(["name", "namespace_id", "version"]);
    expect(values).toEqual(
      params.map((name) => ({ version: 2, name: "holiday", namespace_id: 1 })[name]),
    );
    expect(text).toContain(`$${params.indexOf("version") + 1}`);
  });

  it("refuses values of which one is missing, or has another name", () => {
    expect(() => bind("find_version", { version: 2, name: "holiday" })).toThrow(
      /^statement find_version takes .*namespace_id.*, and was given version, name$/,
    );
    expect(() => bind("find_version", { version: 2, name: "holiday", namespace: 1 })).toThrow(
      /was given version, name, namespace$/,
    );
  });

  it("has a number where its text has the name of a code", () => {
    expect(statement("settle_deliveries").text).toContain("d.state = 0");
  });
});

it("no statement has a parameter or a code that was not replaced", () => {
  for (const { name, text } of loadStatements().values())
    expect(text.replaceAll("::", ""), name).not.toMatch(/:[a-z_]+[. )\n]/);
});

/** With a constant, PostgreSQL would compute the value once for all uses of a statement. */
it("the functions that are labelled immutable and are not are called with a column", () => {
  const calls = [...loadStatements().values()].flatMap(({ name, text }) =>
    [
      ...text.matchAll(/drover\.(?:transaction_time|transaction_number|clock_time)\(([^)]*)\)/g),
    ].map(([call, argument]) => ({ name, call, argument })),
  );
  expect(calls.length).toBeGreaterThan(5);
  for (const { name, call, argument } of calls)
    expect(argument, `${call} in ${name}`).toMatch(/^[a-z]+\.[a-z_]+$/);
});
