/** A migration is sent command by command. */
import { expect, it } from "vitest";
import { aboutOf, commandsOf } from "../../server/store/postgres/sql-commands.ts";

const textsOf = (sql: string) => commandsOf(sql).map(({ text }) => text.trim());

it("each command ends with its semicolon, and comments belong to the command after them", () => {
  expect(textsOf("create table a (b text);\n-- About c.\ncreate table c (d text);\n")).toEqual([
    "create table a (b text);",
    "-- About c.\ncreate table c (d text);",
  ]);
});

it.each([
  ["a string", "comment on table a is 'one; it''s two';"],
  ["a name", 'create table "a;b" (c text);'],
  ["a comment", "create table a (b text -- one; two\n);"],
  ["a comment in brackets", "create table a (b text /* one; two */);"],
  ["a body", "create function a() returns void language plpgsql as $$ begin null; end; $$;"],
  ["a body with a tag", "do $of$ begin execute $$ select 1; $$; end $of$;"],
])("a semicolon in %s ends no command", (_where, sql) => {
  expect(textsOf(`${sql} select 1;`)).toEqual([sql, "select 1;"]);
});

it("a command is where it begins, and what is blank is none", () => {
  expect(commandsOf("select 1;select 2")).toEqual([
    { text: "select 1;", at: 0 },
    { text: "select 2", at: 9 },
  ]);
  expect(commandsOf("\n-- Nothing.\n;".slice(0, -1))).toEqual([]);
});

it("a command is about the first object that it names, outside of comments", () => {
  expect(aboutOf("-- drover.run\ncreate index a on drover.lane (queue);")).toBe("lane");
  expect(aboutOf("create table drover.schedule (id uuid);")).toBe("schedule");
  expect(aboutOf("create function drover.schedule(key text) returns text")).toBe("schedule(");
  expect(aboutOf("select 1;")).toBeNull();
});
