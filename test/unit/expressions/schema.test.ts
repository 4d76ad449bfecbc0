// JSON Schema for inputs and outputs: what a check reports, what is refused, and that it ends.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import type { Json } from "../../../server/expressions/json.ts";
import { compileSchema } from "../../../server/expressions/schema.ts";

function check(schema: Json, value: Json): string | null {
  const compiled = compileSchema(schema);
  return compiled.ok ? compiled.check(value) : `${compiled.path}: ${compiled.message}`;
}

const traveller: Json = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, pattern: "^[A-Z]" },
    code: { type: "string", pattern: "^[0-9]+$" },
    age: { type: "integer", minimum: 0 },
    born: { type: "string", format: "date" },
    seats: { type: "array", items: { enum: ["a", "b"] }, uniqueItems: true },
    price: { multipleOf: 0.01 },
  },
  required: ["name"],
  additionalProperties: false,
};

describe("a value", () => {
  test("that matches", () => {
    const value = {
      name: "Ann",
      code: "12",
      age: 3,
      born: "2020-01-31",
      seats: ["a", "b"],
      price: 0.07,
    };
    expect(check(traveller, value)).toBeNull();
  });

  test.each<readonly [Json, string]>([
    [{}, 'the value must have "name"'],
    [[], "the value must be an object"],
    [{ name: 1 }, "name must be a string"],
    [{ name: "ann" }, 'name must match pattern "^[A-Z]"'],
    [{ name: "Ann", code: "x" }, 'code must match pattern "^[0-9]+$"'],
    [{ name: "Ann", age: 1.5 }, "age must be an integer"],
    [{ name: "Ann", born: "31.1.2020" }, 'born must match format "date"'],
    [{ name: "Ann", seats: ["a", "c"] }, 'seats[1] must be one of ["a","b"]'],
    [{ name: "Ann", seats: ["a", "a"] }, "seats must not hold the same item twice"],
    [{ name: "Ann", extra: 1 }, 'the value must not have "extra"'],
  ])("%j", (value, message) => {
    expect(check(traveller, value)).toBe(message);
  });

  test("is checked against parts that refer to each other", () => {
    const tree = { type: "object", properties: { left: { $ref: "#" }, value: { type: "number" } } };
    expect(check(tree, { left: { left: { value: "x" } } })).toBe(
      "left.left.value must be a number",
    );
    expect(check({ $defs: { a: { const: 1 } }, items: { $ref: "#/$defs/a" } }, [1, 2])).toBe(
      "[1] must be 1",
    );
  });

  test("items that are equal but for the order of their keys are the same", () => {
    expect(
      check({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).not.toBeNull();
    expect(check({ uniqueItems: true }, [{ a: 1 }, { a: 2 }, "1", 1])).toBeNull();
  });

  test("true takes everything and false nothing", () => {
    expect(check(true, 1)).toBeNull();
    expect(check(false, 1)).toBe("no value matches the schema, which is false");
  });
});

describe("a schema is refused", () => {
  test.each<readonly [string, Json, string]>([
    ["a text", "x", ": a schema is an object, true or false"],
    [
      "an unknown keyword",
      { properties: { a: { tpye: "string" } } },
      'properties.a.tpye: there is no keyword "tpye": did you mean "type"?',
    ],
    ["a wrong value", { properties: { a: { type: "strin" } } }, "properties.a.type: must be"],
    ["a schema elsewhere", { $ref: "https://a.b/c" }, "$ref: nothing is fetched"],
    ["a part that is not there", { $ref: "#/$defs/x" }, ": can't resolve reference #/$defs/x"],
    ["a part of another schema", { $ref: "#/properties/name" }, ": can't resolve reference"],
    ["another dialect", { $schema: "http://json-schema.org/draft-07/schema#" }, "$schema: this"],
    ["a part with an id", { properties: { a: { $id: "b" } } }, "properties.a.$id: a part has no"],
    ["a format that would not be checked", { format: "ipv4" }, "format: this format is not"],
    ["a pattern that is none", { items: { pattern: "(a" } }, "items.pattern: the pattern"],
    ["a pattern that looks behind", { pattern: "(?<=a)b" }, "pattern: the pattern"],
    ["a promise", { $async: true }, '$async: there is no keyword "$async"'],
  ])("%s", (_what, schema, message) => {
    compileSchema(traveller);
    expect(check(schema, 1)).toContain(message);
  });

  test("with more parts than a server compiles while others wait", () => {
    const properties = Object.fromEntries(Array.from({ length: 1_001 }, (_, no) => [`p${no}`, {}]));
    expect(check({ properties }, 1)).toContain("it has more than 1000 parts");
  });
});

describe("a check ends", () => {
  const costs = "the value cannot be checked: it takes more work than one evaluation may";
  let deep: Json = 1;
  for (let level = 0; level < 45; level++) deep = [deep];

  test("where each level doubles its work", () => {
    expect(check({ items: { allOf: [{ $ref: "#" }, { $ref: "#" }] } }, deep)).toBe(costs);
  });

  test("where each part refers twice to the one before", () => {
    const twice = (name: string) => ({
      allOf: [{ $ref: `#/$defs/${name}` }, { $ref: `#/$defs/${name}` }],
    });
    const parts = Array.from({ length: 40 }, (_, no) => [`a${no + 1}`, twice(`a${no}`)] as const);
    const $defs = { a0: { type: "number" }, ...Object.fromEntries(parts) };
    expect(check({ $defs, $ref: "#/$defs/a40" }, 1)).toBe(costs);
  });

  test("where many values are tried on many items", () => {
    const values = Array.from({ length: 900 }, (_, no) => `x${no}`);
    expect(
      check(
        { items: { enum: values } },
        Array.from({ length: 20_000 }, () => "x899"),
      ),
    ).toBe(costs);
  });

  test("where a pattern doubles its work with each letter on other engines", () => {
    expect(check({ pattern: "^(a+)+$" }, `${"a".repeat(50_000)}!`)).toContain("must match pattern");
  });

  test("where a schema is its own only part", () => {
    expect(check({ $ref: "#" }, 1)).toContain("too deep to be checked");
  });

  test("where items are many and all of them objects", () => {
    const items = Array.from({ length: 10_000 }, (_, no) => ({ no }));
    expect(check({ uniqueItems: true }, items)).toBeNull();
  });
});

describe("memory", () => {
  const SERVER = fileURLToPath(new URL("../../../server/", import.meta.url));
  const PROGRAM = `
    import ${JSON.stringify(`${SERVER}main.ts`)};
    import { compileSchema } from ${JSON.stringify(`${SERVER}expressions/schema.ts`)};
    const kept = [];
    const compile = (from) => {
      for (let no = from; no < from + 200; no++) {
        const parts = Array.from({ length: 20 }, (_, part) => ["k" + no + part, { maxLength: no }]);
        const list = { enum: Array.from({ length: 2_000 }, () => no) };
        const compiled = compileSchema({ properties: { ...Object.fromEntries(parts), list } });
        // Some are used on, and keep no other one.
        if (no % 40 === 0) kept.push(compiled);
      }
    };
    const heap = () => {
      for (let times = 0; times < 5; times++) gc();
      return process.memoryUsage().heapUsed;
    };
    compile(0);
    const before = heap();
    compile(200);
    console.log(heap() - before);
  `;

  test("a schema that is used no more leaves nothing behind, in ajv or in V8", async () => {
    const args = ["--expose-gc", "--input-type=module", "--eval", PROGRAM];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    // Retained, 200 of these schemas are some 10 MB: half of it values, half of it code.
    expect(Number(stdout)).toBeLessThan(1_500_000);
  });
});
