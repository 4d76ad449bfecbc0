/**
 * The language is CEL as its conformance cases define, also where evaluation is metered and
 * functions are ours. Left out are protobuf messages, and extensions that are not offered.
 */
import {
  type CelInput,
  type CelValue,
  celUint,
  isCelError,
  isCelList,
  isCelMap,
  isCelType,
  isCelUint,
  plan,
} from "@bufbuild/cel";
import type { SimpleTest } from "@bufbuild/cel-spec/cel/expr/conformance/test/simple_pb.js";
import type { Value } from "@bufbuild/cel-spec/cel/expr/value_pb.js";
import { getTestRegistry } from "@bufbuild/cel-spec/testdata/registry.js";
import {
  getConformanceSuite,
  type IncrementalTestSuite,
} from "@bufbuild/cel-spec/testdata/tests.js";
import { fromBinary } from "@bufbuild/protobuf";
import { isReflectMessage } from "@bufbuild/protobuf/reflect";
import { expect, test } from "vitest";
import { checkExpression } from "../../../server/expressions/check.ts";
import { environment, useMeter } from "../../../server/expressions/environment.ts";
import { COST_MAX, createMeter } from "../../../server/expressions/meter.ts";
import { meteredTree } from "../../../server/expressions/metered.ts";
import { parseExpression } from "../../../server/expressions/syntax.ts";

const files = new Set(
  "basic comparisons conversions fp_math integer_math lists logic macros parse plumbing string string_ext timestamps".split(
    " ",
  ),
);
const messages = /TestAllTypes|google\.protobuf|proto[23]|Nested|GlobalEnum|TopLevel/;
const registry = getTestRegistry();

/** Where we differ, each with its reason. */
const differs: readonly (readonly [RegExp, string])[] = [
  [/^timestamp.*'[A-Z][A-Za-z]+\//, "zones by name differ between machines"],
];

function casesOf(suite: IncrementalTestSuite, file: string): readonly SimpleTest[] {
  const own = suite.tests.map(({ original }) => original);
  return [...own, ...suite.suites.flatMap((inner) => casesOf(inner, file))].filter(
    ({ expr, container, checkOnly }) => !checkOnly && !messages.test(expr + container),
  );
}

const cases = getConformanceSuite()
  .suites.filter(({ name }) => files.has(name))
  .flatMap((suite) => casesOf(suite, suite.name));

/** A value as text that distinguishes types. */
function written(value: CelValue): string {
  if (isCelUint(value)) return `${value.value}u`;
  if (isCelList(value)) return `[${[...value].map(written).join()}]`;
  if (isCelMap(value))
    return `{${[...value]
      .map(([key, item]) => `${written(key)}:${written(item)}`)
      .sort()
      .join()}}`;
  if (isCelType(value)) return `type ${value.name}`;
  if (isReflectMessage(value)) {
    const { $typeName, ...fields } = { ...value.message, $unknown: undefined };
    return `${$typeName} ${Object.values(fields)
      .filter((field) => field !== undefined)
      .join()}`;
  }
  if (value instanceof Uint8Array) return `bytes ${value.join()}`;
  return `${typeof value} ${Object.is(value, -0) ? 0 : String(value)}`;
}

function writtenCase({ kind }: Value): string {
  switch (kind.case) {
    case "uint64Value":
      return `${kind.value}u`;
    case "listValue":
      return `[${kind.value.values.map(writtenCase).join()}]`;
    case "mapValue": {
      const entries = kind.value.entries.map(({ key, value }) => {
        return `${key ? writtenCase(key) : ""}:${value ? writtenCase(value) : ""}`;
      });
      return `{${entries.sort().join()}}`;
    }
    case "typeValue":
      return `type ${kind.value}`;
    case "nullValue":
      return written(null);
    case "objectValue":
    case "enumValue":
    case undefined: {
      const input = inputOf({ kind });
      return isReflectMessage(input) ? written(input) : JSON.stringify(input);
    }
    default:
      return written(kind.value);
  }
}

function inputOf({ kind }: Pick<Value, "kind">): CelInput {
  switch (kind.case) {
    case "uint64Value":
      return celUint(kind.value);
    case "listValue":
      return kind.value.values.map(inputOf);
    case "mapValue":
      return new Map(
        kind.value.entries.map(({ key, value }) => [
          key ? String(inputOf(key)) : "",
          value ? inputOf(value) : null,
        ]),
      );
    case "objectValue": {
      const desc = registry.getMessage(kind.value.typeUrl.split("/").at(-1) ?? "");
      return desc ? fromBinary(desc, kind.value.value) : null;
    }
    case "boolValue":
    case "bytesValue":
    case "doubleValue":
    case "int64Value":
    case "stringValue":
      return kind.value;
    default:
      return null;
  }
}

function outcome({ expr, bindings }: SimpleTest): string {
  const syntax = parseExpression(expr);
  if (!syntax.ok) return "error";
  const variables: Record<string, CelInput> = {};
  for (const [name, { kind }] of Object.entries(bindings))
    if (kind.case === "value") variables[name] = inputOf(kind.value);
  useMeter(createMeter(COST_MAX));
  const value = plan(environment, meteredTree(syntax.tree.root))(variables);
  return isCelError(value) ? "error" : written(value);
}

function wanted({ resultMatcher }: SimpleTest): string {
  if (resultMatcher.case === "value") return writtenCase(resultMatcher.value);
  if (resultMatcher.case === "typedResult" && resultMatcher.value.result)
    return writtenCase(resultMatcher.value.result);
  return resultMatcher.case === undefined ? "boolean true" : "error";
}

test("cases of the language have the results that they define", () => {
  const wrong = cases
    .filter(({ expr }) => !differs.some(([pattern]) => pattern.test(expr)))
    .map((one) => `${one.expr} => ${outcome(one)}, not ${wanted(one)}`)
    .filter((line) => !/=> (.*), not \1$/s.test(line));
  expect(cases.length).toBeGreaterThan(1_000);
  expect(wrong).toEqual([]);
});

test("a case that has a value is not refused before it is evaluated", () => {
  const scope = { steps: [], allSteps: [], hasItem: false };
  const refused = cases
    .filter(({ bindings, disableCheck }) => !disableCheck && Object.keys(bindings).length === 0)
    .filter((one) => wanted(one) !== "error")
    .flatMap(({ expr }) => {
      const syntax = parseExpression(expr);
      if (!syntax.ok) return [`${expr}: ${syntax.message}`];
      const [finding] = checkExpression(expr, syntax.tree, scope, createMeter(COST_MAX)).findings;
      return finding ? [`${expr}: ${finding.message}`] : [];
    });
  expect(refused).toEqual([]);
});
