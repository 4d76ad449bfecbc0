import { expect, test } from "vitest";
import { databaseSchema } from "../../server/store/postgres/database-schema.ts";

test.each(["drover", "app_2", "_mine", "table", "a".repeat(54)])("%s may be a schema", (name) => {
  expect(databaseSchema(name)).toBe(name);
});

test.each([
  ["nothing", ""],
  ["the public schema", "public"],
  ["what is PostgreSQL's", "pg_drover"],
  ["what is the standard's", "information_schema"],
  ["capitals, which SQL without quotes does not find", "Drover"],
  ["a digit in front", "2drover"],
  ["a quote", 'a"b'],
  ["a dot", "a.b"],
  ["a hyphen", "my-app"],
  ["another alphabet", "größe"],
  ["more than leaves room for the number of a shard", "a".repeat(55)],
])("%s is refused", (_what, name) => {
  expect(() => databaseSchema(name)).toThrow(
    `"${name}" cannot be the schema of Drover: name one of its own, of at most 54 small letters`,
  );
});
