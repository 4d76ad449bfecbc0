/**
 * Every rule of the contract that bounds the size of a field, found in the contract itself: what is
 * at the limit breaks no rule of the field, one more does, and the refusal says how much it is and
 * how much it may be.
 */
import { readFileSync } from "node:fs";
import { create, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { createValidator } from "@bufbuild/protovalidate";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import { describe, expect, test } from "vitest";
import { withLimits } from "../../docs/limits-table.ts";
import { contractLimit, contractMax } from "../../server/api/calls/contract-limits.ts";
import { matchesProtoPattern } from "../../server/api/calls/request-check.ts";
import { problemOf } from "../../server/api/calls/violation.ts";

const validator = createValidator({ regexMatch: matchesProtoPattern });

/** All fields with a limit, in what a caller may send. */
function limitedFields(): readonly (readonly [string, DescField])[] {
  const found = new Map<string, DescField>();
  const seen = new Set<string>();
  const walk = (message: DescMessage): void => {
    if (seen.has(message.typeName)) return;
    seen.add(message.typeName);
    for (const field of message.fields) {
      const isSized = field.fieldKind !== "list" || field.listKind !== "message";
      if (contractLimit(field) !== null && isSized)
        found.set(`${message.typeName}.${field.name}`, field);
      if (field.message) walk(field.message);
    }
  };
  for (const service of [SchedulerService, OperatorService, AgentService])
    for (const method of service.methods) walk(method.input);
  return [...found];
}

/** A message of the field's type in which the field has this size, and nothing else is set. */
function sized(field: DescField, size: number) {
  const message = create(field.parent);
  const reflected = reflect(field.parent, message);
  const kind = contractLimit(field)?.kind;
  const texts = Array.from({ length: size <= 2_000 ? size : 0 }, (_, index) => `x${index}`);
  if (kind === "items") for (const text of texts) addTo(reflected, field, text);
  else if (kind === "pairs") for (const text of texts) pairIn(reflected, field, text);
  else if (kind === "duration" && field.fieldKind === "message")
    reflected.set(field, reflect(field.message, durationFromMs(size)));
  else if (kind === "number") reflected.set(field, numberOf(field, size));
  else if (field.fieldKind === "scalar" && kind === "bytes" && field.scalar === 12)
    reflected.set(field, new Uint8Array(size));
  else reflected.set(field, "x".repeat(size));
  return message;
}

type Reflected = ReturnType<typeof reflect>;

function addTo(to: Reflected, field: DescField, text: string): void {
  if (field.fieldKind !== "list") throw new Error(`${field.name} is no list`);
  const isText = field.listKind === "scalar" && field.scalar === 9;
  to.get(field).add(isText ? text : itemOf(field, text));
}

function itemOf(field: DescField, text: string): number | bigint {
  const number = Number(text.slice(1)) + 1;
  const isLong = field.fieldKind === "list" && field.listKind === "scalar" && field.scalar !== 13;
  return isLong ? BigInt(number) : number;
}

function pairIn(to: Reflected, field: DescField, text: string): void {
  if (field.fieldKind !== "map") throw new Error(`${field.name} is no map`);
  to.get(field).set(text, "v");
}

function numberOf(field: DescField, size: number): number | bigint {
  const isLong = field.fieldKind === "scalar" && (field.scalar === 3 || field.scalar === 4);
  return isLong ? BigInt(size) : size;
}

/** What breaks a rule of the field itself, as it is refused. */
function problems(field: DescField, size: number): readonly string[] {
  const message = sized(field, size);
  const result = validator.validate(field.parent, message);
  if (result.kind === "error") throw result.error;
  const found = result.kind === "invalid" ? result.violations : [];
  return found
    .map((violation) => problemOf(message, violation))
    .filter(({ path }) => path === field.name || path.endsWith(`.${field.name}`))
    .map((problem) => problem.message);
}

describe("a limit of the contract", () => {
  const fields = limitedFields();

  test("is one of many", () => {
    expect(fields.length).toBeGreaterThan(150);
  });

  test.each(fields)("%s", (name, field) => {
    const most = contractMax(field.parent, field.name);
    const isDuration = contractLimit(field)?.kind === "duration";
    const limit = String(isDuration ? most / 1_000 : most);
    const about = (size: number) =>
      problems(field, size).filter((text) => text.replaceAll(",", "").includes(limit));
    expect(about(most), name).toEqual([]);
    expect(about(most + 1), name).not.toEqual([]);
  });
});

test("the table of limits in docs/NAMESPACES.md is what the list says", () => {
  const page = readFileSync(new URL("../../docs/NAMESPACES.md", import.meta.url), "utf8");
  expect(withLimits(page), "run `node docs/generate.ts`").toBe(page);
});
