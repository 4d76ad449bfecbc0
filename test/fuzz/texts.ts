// Texts of every language that the server reads: expressions, workflows in YAML, JSON Schema, cron
// expressions and filters of runs. Each is made by a grammar, by mutation of the examples of this
// repository, or is a bomb: small to write, and large to read carelessly.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { jsonValues } from "../support/json-values.ts";
import { treeRoot } from "../support/tree.ts";
import { WILD_TEXTS } from "./messages.ts";
import { schemaTexts } from "./schema-texts.ts";

export type TextKind = "expressions" | "yaml" | "schema" | "cron" | "filter";

const EXAMPLES = globSync("{agents-examples,cli,docs,sdk}/**/*.{yaml,yml}", {
  cwd: treeRoot,
  exclude: (path) => /node_modules|\.venv/.test(path),
})
  .sort()
  .map((path) => readFileSync(join(treeRoot, path), "utf8"))
  .filter((text) => text.length < 20_000);

const EXPRESSIONS = EXAMPLES.flatMap((text) => [
  ...[...text.matchAll(/\$\{([^}]+)\}/g)].map(([, inner = ""]) => inner),
  ...[...text.matchAll(/\bwhen: *(.+)$/gm)].map(([, inner = ""]) => inner),
]);

const wild = fc.constantFrom(...WILD_TEXTS);

/** One to four edits of a text: characters that go, come twice or change, and lines likewise. */
function mutated(texts: fc.Arbitrary<string>, pieces: readonly string[]): fc.Arbitrary<string> {
  const edit = fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat({ max: 20 }),
    piece: fc.oneof(fc.constantFrom(...pieces), wild, fc.string({ unit: "binary", maxLength: 4 })),
    kind: fc.constantFrom("insert", "remove", "replace", "double", "line"),
  });
  return fc.tuple(texts, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([text, edits]) =>
    edits.reduce((now, { at, length, piece, kind }) => {
      const from = Math.floor(at * now.length);
      const [before, after] = [now.slice(0, from), now.slice(from)];
      switch (kind) {
        case "insert":
          return before + piece + after;
        case "remove":
          return before + after.slice(length);
        case "replace":
          return before + piece + after.slice(length);
        case "double":
          return before + after.slice(0, length) + after;
        default: {
          const lines = now.split("\n");
          const no = Math.floor(at * lines.length);
          return [...lines.slice(0, no), lines[no] ?? "", ...lines.slice(no)].join("\n");
        }
      }
    }, text),
  );
}

const NAMES = [
  "input",
  "input.list",
  "item",
  "steps.a.output",
  "run.id",
  "run.labels",
  "steps.a",
  "input.x",
];

/** Expressions of CEL; `size` is how deep they nest. */
const cel = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.constantFrom(
      ...NAMES,
      ..."1 0 -1 2.5 1e308 1e999 9223372036854775807 9223372036854775808 18446744073709551615u true null [] {} 'a' b'\\xff' r'\\d' \"\\ud800\" \"\\u0000\"".split(
        " ",
      ),
      "timestamp('9999-12-31T23:59:59Z')",
      "duration('1e9h')",
      "duration('-99999999999s')",
    ),
    fc
      .tuple(
        tie("value"),
        fc.constantFrom(..."+ - * / % == != < >= && || in".split(" ")),
        tie("value"),
      )
      .map(([left, sign, right]) => `(dyn(${left}) ${sign} dyn(${right}))`),
    fc
      .tuple(
        tie("value"),
        fc.constantFrom("map", "filter", "all", "exists", "exists_one"),
        tie("value"),
      )
      .map(([of, macro, body]) => `dyn(${of}).${macro}(x, dyn(x) == dyn(${body}))`),
    fc.tuple(tie("value"), tie("value")).map(([of, body]) => `dyn(${of}).map(x, [x, ${body}])`),
    fc
      .tuple(
        fc.constantFrom(
          "size",
          "string",
          "int",
          "double",
          "bool",
          "uint",
          "bytes",
          "type",
          "timestamp",
          "duration",
          "has",
          "dyn",
        ),
        tie("value"),
      )
      .map(([name, of]) => `${name}(${of})`),
    fc
      .tuple(
        tie("value"),
        fc.constantFrom(
          "startsWith",
          "endsWith",
          "contains",
          "matches",
          "split",
          "join",
          "replace",
          "format",
          "getFullYear",
          "lowerAscii",
        ),
        tie("value"),
      )
      .map(([of, name, with_]) => `dyn(${of}).${name}(${with_})`),
    fc.tuple(tie("value"), tie("value")).map(([of, key]) => `dyn(${of})[dyn(${key})]`),
    fc.tuple(tie("value"), tie("value")).map(([one, two]) => `{"k": ${one}, ${two}: 1}`),
    fc.tuple(tie("value"), tie("value")).map(([if_, then]) => `(dyn(${if_}) ? ${then} : null)`),
    tie("value").map((of) => `!(${of})`),
  ),
})).value;

const CEL_BOMBS: readonly string[] = [
  "(".repeat(2_000),
  `${"(".repeat(500)}1${")".repeat(500)}`,
  `${"[".repeat(500)}${"]".repeat(500)}`,
  `${"!".repeat(3_000)}true`,
  `${"-".repeat(3_000)}1`,
  `input${".a".repeat(1_500)}`,
  `input${"[0]".repeat(1_000)}`,
  Array.from({ length: 1_000 }, () => "1").join(" + "),
  Array.from({ length: 800 }, () => "true").join(" ? true : "),
  Array.from({ length: 7 }).reduce<string>(
    (inner) => `[0,1,2,3,4,5,6,7,8,9].map(x, ${inner})`,
    "x",
  ),
  Array.from({ length: 20 }).reduce<string>(
    (inner) => `[${inner}, ${inner.slice(0, 60)}]`,
    "input",
  ),
  "'a'.matches('(a+)+$')",
  "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a|a)*$')",
  "'x'.matches('(((a{1,100}){1,100}){1,100}){1,100}')",
  "input.s.matches('\\\\pL{900}')",
  `"${"a".repeat(3_900)}" + "b"`,
  "input.list.map(x, input.list.map(y, input.list.map(z, input.list)))",
];

const celTexts = fc.oneof(
  { weight: 6, arbitrary: cel },
  {
    weight: 3,
    arbitrary: mutated(fc.constantFrom(...EXPRESSIONS), [
      "${",
      "}",
      "(",
      ")",
      '"',
      "'",
      "[",
      "?",
      "//",
    ]),
  },
  { weight: 1, arbitrary: fc.constantFrom(...CEL_BOMBS) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 80 }) },
);

const YAML_HEAD = "workflow: w\nsteps:\n  - id: a\n    task: t\n    input: ";

const YAML_BOMBS: readonly string[] = [
  `a0: &a0 [x, x]\n${Array.from({ length: 30 }, (_, no) => `a${no + 1}: &a${no + 1} [*a${no}, *a${no}]`).join("\n")}`,
  `${YAML_HEAD}${"[".repeat(5_000)}`,
  `${YAML_HEAD}${"{a: ".repeat(2_000)}`,
  `${YAML_HEAD}${"[".repeat(60)}1${"]".repeat(60)}`,
  `${YAML_HEAD}\n${Array.from({ length: 500 }, (_, no) => `${" ".repeat(6 + no)}a:`).join("\n")}`,
  `${"- ".repeat(20_000)}a`,
  `${"? ".repeat(5_000)}a`,
  `${YAML_HEAD}"${"\\u0041".repeat(10_000)}"`,
  `${YAML_HEAD}${"a".repeat(300_000)}`,
  `${YAML_HEAD}"${"\\\n ".repeat(5_000)}"`,
  `workflow: w\nsteps:\n${"  - { id: a, task: t }\n".repeat(3_000)}`,
  `workflow: w\nsteps:\n${Array.from({ length: 490 }, (_, no) => `  - { id: s${no}, task: t, needs: [${Array.from({ length: Math.min(no, 40) }, (__, of) => `s${no - of - 1}`).join(", ")}] }`).join("\n")}`,
  `${"a: b\n".repeat(20_000)}`,
  `${"#".repeat(100_000)}\nworkflow: w`,
  `${" ".repeat(100_000)}workflow: w`,
  `--- ${"\n---".repeat(5_000)}`,
  `%YAML 1.2\n%TAG ! tag:x,2000:\n---\n${YAML_HEAD}!<tag:yaml.org,2002:binary> "////"`,
  `${YAML_HEAD}!!js/function "function(){}"`,
  `${YAML_HEAD}{ <<: *x, a: &x 1 }`,
  `${YAML_HEAD}&a [*a]`,
  `${YAML_HEAD}{ ? [a, b] : c, ? { d: e } : f }`,
  `${YAML_HEAD}[0x7fffffffffffffffffff, 1e400, .nan, -.inf, 0o17, 1_000, 2026-01-01]`,
];

const yamlTexts = fc.oneof(
  {
    weight: 8,
    arbitrary: mutated(fc.constantFrom(...EXAMPLES), [
      "&a ",
      "*a",
      "<<: *a",
      "!!binary ",
      "\t",
      "\r",
      "\r\n",
      ": ",
      "- ",
      "? ",
      "| ",
      ">-\n",
      "{",
      "}",
      "[",
      "]",
      "#",
      "---\n",
      "...\n",
      "\u0085",
      "\u2028",
      "steps:",
      "id: ",
      "needs: [",
      "__proto__: ",
      "1e400",
      "-9999999d",
      "0x10",
      ".nan",
      "${",
      "'",
      '"',
      "%",
      "@",
      "`",
    ]),
  },
  { weight: 1, arbitrary: fc.constantFrom(...YAML_BOMBS) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 200 }) },
);

const cronField = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "*",
      "0",
      "5",
      "23",
      "31",
      "*/5",
      "1-5",
      "MON-FRI",
      "JAN",
      "1,15",
      "?",
      "L",
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "99",
      "-1",
      "*/0",
      "59-0",
      "1-99999999",
      "0-59/1",
      "*/99999999999999999999",
      "L-3",
      "15W",
      "LW",
      "MON#5",
      "7",
      "1.5",
      "١",
      "",
      "*,*",
      "1-2-3",
      "//",
      "0/0",
      "#",
      "FEB-JAN",
      "SUN-SAT/3",
      "1e3",
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.integer({ min: -2, max: 70 }), { maxLength: 80 })
      .map((list) => list.join(",")),
  },
);
const cronTexts = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(cronField, { minLength: 5, maxLength: 5 })
      .map((fields) => fields.join(" ")),
  },
  { weight: 1, arbitrary: fc.array(cronField, { maxLength: 8 }).map((fields) => fields.join(" ")) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "0 0 30 2 *",
      "0 0 31 2,4,6,9,11 *",
      "0 0 29 2 MON",
      "* * 29 2 *",
      "0 0 L 2 *",
      "@daily",
      "@reboot",
      "@yearly",
      "@",
      "@never",
      "0 0 1 1 ?",
      "0 0 29 2 MON#5",
      "0 2 31 12 SUN#1",
      "* ".repeat(5),
      `${"0,".repeat(100)}1 * * * *`,
    ),
  },
  {
    weight: 1,
    arbitrary: mutated(fc.constantFrom("30 2 * * MON-FRI", "*/5 * * * *", "0 0 29 2 *"), [
      "L",
      "W",
      "#",
      "/",
      "-",
      ",",
      "\u0000",
    ]),
  },
);

const filterCondition = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      "state:open",
      "state:failed,cancelled",
      "waits:approval",
      "workflow:work",
      "step:a error:no",
      "key:key-1",
      "key^:key-",
      "label.tenant=acme",
      "parent:01986f3e-7c1a-7d34-9b52-3f0c8a6e1d27",
      "created>2026-01-01",
      "ended<now-2h",
      'key:"a b"',
      "created>=now",
      "label.a:b",
    ),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        fc.constantFrom(
          "state",
          "waits",
          "workflow",
          "step",
          "error",
          "key",
          "label.",
          "label.x",
          "parent",
          "created",
          "ended",
          "nope",
          "__proto__",
          "constructor",
        ),
        fc.constantFrom(":", "^:", "=", ">", ">=", "<", "<=", "", "::"),
        fc.oneof(
          wild,
          fc.constantFrom(
            "open,open,open",
            "now-999999999999d",
            "now+1e9h",
            "-1",
            "275760-09-13",
            "+999999-01-01",
            "0000-00-00",
            "1e400",
            "%",
            "_",
            "\\",
            '"',
            '"\\"',
            '"\\',
            "a*",
            "2026-02-30T25:61:61Z",
          ),
        ),
      )
      .map((parts) => parts.join("")),
  },
);
const filterTexts = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(filterCondition, { maxLength: 8 })
      .map((conditions) => conditions.join(" ")),
  },
  {
    weight: 2,
    arbitrary: mutated(
      fc.constantFrom('state:open key:"a\\"b" created>now-2h', "label.tenant=acme step:a"),
      ['"', "\\", ":", ",", ">", " "],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      "state:open ".repeat(370),
      `label.${"a".repeat(4_000)}=b`,
      `key:"${"\\\\".repeat(2_000)}`,
      "a".repeat(4_096),
      `state:${"open,".repeat(800)}`,
      `${" ".repeat(4_000)}x`,
      `key:"${'\\"'.repeat(1_900)}"`,
    ),
  },
);

export const TEXTS: Readonly<Record<TextKind, fc.Arbitrary<string>>> = {
  expressions: celTexts,
  yaml: yamlTexts,
  schema: schemaTexts,
  cron: cronTexts,
  filter: filterTexts,
};

/** Values that schemas and expressions are tried on. */
export const jsonTexts: fc.Arbitrary<string> = fc.oneof(
  jsonValues(3).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '{"list":[1,2,3],"x":{"a":[]},"s":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}',
    '{"a":{"a":{"a":{"a":{"a":{"a":{"b":1}}}}}},"b":{}}',
    JSON.stringify(Array.from({ length: 2_000 }, (_, no) => no)),
    JSON.stringify({ a: "a".repeat(50_000) }),
    "1e308",
    '"\\ud800"',
    '{"__proto__":{"a":1}}',
  ),
);
