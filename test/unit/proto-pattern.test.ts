import { type DescFile, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { RE2JS } from "@bufbuild/re2";
import * as rules from "@drover/proto/buf/validate/validate_pb.ts";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileProtoPattern, matchesProtoPattern } from "../../server/api/calls/request-check.ts";

const { patterns, expressions } = rulesOfProto();

/** The characters that patterns treat in different ways, among them halves of pairs. */
const SPECIAL = [
  ..."aZ09._-$",
  "{",
  "}",
  ..."\n\r\0\x1f\x20\x7e\x7f,!\u0085\u2028\u2029é漢\u{1f9ad}",
  "\ud800",
  "\udc00",
];
/** Of just such lengths as patterns allow, and one less and more. */
const LENGTHS = [0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 512, 513];
const EXAMPLES = [
  ...SPECIAL.flatMap((one) => LENGTHS.map((length) => one.repeat(length))),
  ...["input.queue}", "x}\r", "x\n"].flatMap((rest) => [
    `a$\{${rest}`,
    `$\{${rest}`,
    `a b$\{${rest}`,
  ]),
  "orders",
  "ends\n",
  "\nstarts",
  "a-z",
  "-",
  `00-${"0af".repeat(10)}12-${"b7".repeat(8)}-01`,
  `00-${"0af".repeat(10)}12-${"b7".repeat(8)}-0g`,
];

describe("a pattern of the proto", () => {
  it("is one of many", () => {
    expect(patterns.length).toBeGreaterThan(15);
    expect(patterns).toContain("^[A-Za-z0-9._-]{1,128}$");
    expect(patterns).toContain("^([A-Za-z0-9._-]{0,128}|[A-Za-z0-9._-]*\\$\\{.*)$");
  });

  it("is a rule of a field, and of no expression", () => {
    expect(expressions.filter((text) => text.includes("matches("))).toEqual([]);
  });

  it.each(patterns)("%s means to V8 what it means to RE2", (pattern) => {
    const re2 = RE2JS.compile(pattern);
    const agree = (text: string) => {
      expect([text, matchesProtoPattern(pattern, text)]).toEqual([text, re2.test(text)]);
    };
    for (const text of EXAMPLES) agree(text);
    const special = fc.string({ unit: fc.constantFrom(...SPECIAL), maxLength: 300 });
    const allowed = fc.string({ unit: fc.constantFrom(...ofClasses(pattern)), maxLength: 300 });
    fc.assert(fc.property(fc.oneof(fc.string({ unit: "binary" }), special, allowed), agree), {
      numRuns: 500,
    });
  });

  it.each(patterns)("%s takes linear time, whatever the text", (pattern) => {
    expect(whyNotLinear(pattern)).toBeNull();
  });

  it.each([
    ["^(a*)*$", "a group is repeated"],
    ["^a*[a-c]$", "a* may end in more than one place"],
    ["^[a-c]{1,9}b*$", "[a-c]{1,9} may end in more than one place"],
    ["[a-c]*$", "it is not anchored"],
    ["^(a|b*(c))$", "a group is within a group"],
  ])("%s would not be let in", (pattern, why) => {
    expect(whyNotLinear(pattern)).toBe(why);
  });

  it("is refused where V8 does not read it", () => {
    expect(() => compileProtoPattern("^\\pN+\\z$")).toThrow("Invalid regular expression");
  });
});

interface Piece {
  readonly text: string;
  readonly one: RegExp;
  readonly repeated: boolean;
}

/**
 * Within an alternative each text is taken apart in one way only where no repeated piece can be
 * followed by a character of its own: it gives back each of its characters once, and in vain.
 */
function whyNotLinear(pattern: string): string | null {
  const body = /^\^(.*)\$$/s.exec(pattern)?.[1];
  if (body === undefined) return "it is not anchored";
  const group = /^\((.*)\)\??$/s.exec(body)?.[1];
  const inner = group ?? body;
  const bare = inner.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]/g, "");
  if (/\)[*+{]/.test(bare)) return "a group is repeated";
  if (/[()]/.test(bare)) return "a group is within a group";
  // No pattern has a bar in a class, or behind a backslash.
  const alternatives = group === undefined ? [inner] : inner.split("|");
  for (const alternative of alternatives) {
    const pieces = piecesOf(alternative);
    const loose = pieces.find(({ repeated, one }, at) => {
      const next = pieces[at + 1];
      return repeated && next !== undefined && mayMeet(one, next);
    });
    if (loose) return `${loose.text} may end in more than one place`;
  }
  return null;
}

function piecesOf(alternative: string): readonly Piece[] {
  const found = alternative.matchAll(/(\\.|\[(?:\\.|[^\]\\])*\]|.)([*+?]|\{\d+(?:,\d*)?\})?/gs);
  return [...found].map(([text, one = "", count = ""]) => ({
    text,
    one: new RegExp(`^${one}$`, "su"),
    repeated: !["", "?"].includes(count) && !/^\{\d+\}$/.test(count),
  }));
}

/** Whether a character may be both the last of the one and the first of the other. */
function mayMeet(one: RegExp, next: Piece): boolean {
  return ascii().some((char) => one.test(char) && next.one.test(char));
}

function ofClasses(pattern: string): readonly string[] {
  const pieces = piecesOf(pattern.replaceAll(/^\^|\$$|\)\?|[()|]/g, ""));
  return ascii().filter((char) => pieces.some(({ one }) => one.test(char)));
}

function ascii(): readonly string[] {
  return Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
}

/** Of all files that our services need. */
function rulesOfProto() {
  const found = { patterns: new Set<string>(), expressions: new Set<string>() };
  const files = new Set<DescFile>();
  const visit = (file: DescFile) => {
    if (files.has(file)) return;
    files.add(file);
    for (const dependency of file.dependencies) visit(dependency);
  };
  for (const { file } of [AgentService, OperatorService, SchedulerService]) visit(file);
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, of] of Object.entries(value)) {
      if (typeof of !== "string") collect(of);
      else if (name === "pattern" && of !== "") found.patterns.add(of);
      else if (name === "expression") found.expressions.add(of);
    }
  };
  const inMessage = (message: DescMessage): void => {
    if (hasOption(message, rules.message)) collect(getOption(message, rules.message));
    for (const part of message.members)
      if (part.kind === "field" && hasOption(part, rules.field))
        collect(getOption(part, rules.field));
    for (const nested of message.nestedMessages) inMessage(nested);
  };
  for (const file of files)
    if (file.name.startsWith("drover/")) for (const message of file.messages) inMessage(message);
  return { patterns: [...found.patterns], expressions: [...found.expressions] };
}
