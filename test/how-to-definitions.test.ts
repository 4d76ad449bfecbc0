/**
 * The definitions of other systems on the pages that tell how to move from them are whole: what
 * they name is there, and each task of theirs is one of the workflow beside them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRequestCheck } from "../server/api/calls/request-check.ts";
import { definitionOfText } from "../server/api/workflow/definition-source.ts";
import { RPC_DEFAULTS } from "../server/rpc-config.ts";
import { blocksOf } from "./e2e/how-to/page-player.ts";

function fileOf(page: string, file: string): string {
  const text = readFileSync(join(import.meta.dirname, `../docs/how-to/${page}.md`), "utf8");
  return blocksOf(text).find((block) => block.file === file)?.text ?? "";
}

/** The names of all tasks that agents are handed: of steps, of maps and of undos. */
function tasksOf(page: string, file: string): ReadonlySet<string> {
  const text = fileOf(page, file);
  // The server takes it; the names are then read from the text, where they are all `task: NAME`.
  expect(definitionOfText(text, createRequestCheck(RPC_DEFAULTS), () => []).steps).not.toEqual([]);
  return new Set([...text.matchAll(/task: ([\w-]+)/g)].map(([, name = ""]) => name));
}

test("the state machine names states that it has, and activities that the workflow has", () => {
  const text = fileOf("from-step-functions", "order.asl.json");
  const machine: unknown = JSON.parse(text);
  expect(machine).toHaveProperty("States.Reserve");
  const named = [...text.matchAll(/"(?:StartAt|Next|Default)": "(\w+)"/g)].map(([, to]) => to);
  const states = [...text.matchAll(/"(\w+)": \{\s*"Type"/g)].map(([, name]) => name);
  expect(named.filter((name) => !states.includes(name))).toEqual([]);
  expect(states.filter((name) => !named.includes(name))).toEqual([]);
  const tasks = tasksOf("from-step-functions", "order.yaml");
  const activities = [...text.matchAll(/:activity:([\w-]+)/g)].map(([, name = ""]) => name);
  expect(activities.length).toBeGreaterThan(4);
  expect(activities.filter((name) => !tasks.has(name))).toEqual([]);
});

test("the definition of Conductor refers to tasks that it has, and the workflow has them too", () => {
  const text = fileOf("from-conductor", "film.conductor.json");
  expect(JSON.parse(text)).toMatchObject({ schemaVersion: 2, name: "film" });
  const references = [...text.matchAll(/"taskReferenceName": "(\w+)"/g)].map(([, name]) => name);
  const read = [...text.matchAll(/\$\{(\w+)\.output/g)].map(([, name]) => name);
  expect(read.length).toBeGreaterThan(2);
  expect(read.filter((name) => !references.includes(name))).toEqual([]);
  const tasks = tasksOf("from-conductor", "film.yaml");
  const simple = [
    ...text.matchAll(/"name": "(\w+)",\s*"taskReferenceName": "\w+",\s*"type": "SIMPLE"/g),
  ];
  expect(simple).toHaveLength(4);
  for (const [, name = ""] of simple) expect(tasks).toContain(name.replaceAll("_", "-"));
  const encode: unknown = JSON.parse(fileOf("from-conductor", "encode-film.conductor.json"));
  expect(encode).toMatchObject({ name: "encode_film", retryCount: 3 });
});
