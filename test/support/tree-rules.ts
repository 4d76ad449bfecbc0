/**
 * What every file keeps to, as functions from a file to the lines that break it. Each finding has
 * where, what, and what to do instead. Biome and the compiler see most files too; what is here
 * as well is what a reviewer must be able to rely on when a tool's setting changes.
 */

import { isHandwritten, lineAt, type SourceFile, scan } from "./tree.ts";
import type { Finding } from "./tree-layers.ts";

interface Ban {
  readonly what: string;
  readonly pattern: RegExp;
  readonly instead: string;
  /** Where it holds. */
  readonly within: readonly string[];
  /** Where it does not, each with its reason. */
  readonly except: Readonly<Record<string, string>>;
}

const clocks = {
  "server/clock.ts": "the one module that touches time and chance",
  "sdk/typescript/clock.ts": "its twin: an agent has no server to take a clock from",
};

/** Words of this project alone; the field has a term for each (CONTRIBUTING.md). */
const RETIRED =
  "flights?|flown|riders?|boarding|passengers?|landings?|ashore|pulses?|rosters?|intake|trials?|judges?|judged|ladders?|climbs?|dealt|mended|moments?|verdicts?|doubts?|deeds?|thaws?|stood|told|said|standings?|fired|fires?|beats?|deals?|strays?|nobody|somebody|whoever|hears?|stands?|mends?|awoken";

/** Of tests and benchmarks: a test helper fires a timer, and peers of a benchmark have flights. */
const RETIRED_IN_TESTS = RETIRED.split("|")
  .filter((word) => !/^fl|^fire/.test(word))
  .join("|");

/** At the start of a name or of a part of it, as in `nextFlight`; "in flight" is a term. */
function retired(words: string): Pick<Ban, "what" | "pattern" | "instead" | "except"> {
  return {
    what: "has a word that the project gave up",
    pattern: new RegExp(
      `\\b(?:${words})(?![a-z])|(?<!\\bin|[a-z]In)(?:${capitals(words)})(?![a-z])`,
      "g",
    ),
    instead: "use the standard term, see the words in CONTRIBUTING.md",
    except: {},
  };
}

/** Searched in code, where comments and strings are blank. */
export const bans: readonly Ban[] = [
  {
    ...retired(RETIRED),
    within: "server/ simulator/ dev-postgres/ cli/ agents/ sdk/typescript/ web/src/".split(" "),
  },
  { ...retired(RETIRED_IN_TESTS), within: ["test/", "bench/"] },
  {
    what: "reads the clock of this machine",
    pattern: /\bDate\.now\b|\bnew Date\(\s*\)|\bperformance\.now\b|\bhrtime\b/g,
    instead: "take a Clock (clock.ts); due times are the database's, from Tx.now",
    within: ["server/", "sdk/typescript/"],
    except: clocks,
  },
  {
    what: "starts a timer",
    pattern: /\b(?:setTimeout|setInterval|setImmediate|AbortSignal\.timeout)\b/g,
    instead: "use Clock.after or Clock.sleep, so that a test can let time pass",
    within: ["server/", "sdk/typescript/"],
    except: clocks,
  },
  {
    what: "draws lots",
    pattern: /\bMath\.random\b/g,
    instead: "take a Random (clock.ts); in core the draw comes with the event",
    within: ["server/", "sdk/typescript/"],
    except: clocks,
  },
  {
    what: "makes random bytes",
    pattern: /\b(?:randomUUID|randomBytes|getRandomValues)\b/g,
    instead: "take a Random (clock.ts)",
    within: ["server/"],
    except: clocks,
  },
  {
    what: "writes to the console",
    pattern: /\bconsole\.\w+/g,
    instead: "log an event with the Logger that it was given",
    within: ["server/", "sdk/", "agents/", "docs/", "web/"],
    except: {},
  },
  {
    what: "says `any`",
    pattern: /(?<=[:<|&]\s*|\b(?:as|extends|is)\s+)any\b(?!\s*[:(.])|(?<=,\s*)any(?=\s*>)/g,
    instead: "say `unknown` and look, or name the type",
    within: ["server/", "sdk/", "cli/", "agents/", "agents-examples/", "docs/", "web/"],
    except: {},
  },
  {
    what: "has a default export",
    pattern: /\bexport\s+default\b/g,
    instead: "export it by its name",
    within: [""],
    except: {
      "vitest.config.ts": "vitest asks for it",
      "web/vite.config.ts": "so does vite",
      "site/.vitepress/config.ts": "so does VitePress",
      "site/.vitepress/theme/index.ts": "so does VitePress",
    },
  },
  {
    what: "has an enum",
    pattern: /\benum\s+\w+\s*\{/g,
    instead: "use a union of strings; Node runs our types by leaving them out",
    within: [""],
    except: {},
  },
  {
    what: "spreads an object that it writes on the spot",
    pattern: /(?<!\{)\.\.\.\{/g,
    instead: "write its fields where they belong",
    within: [""],
    except: {},
  },
  {
    what: "declares several names by an array",
    pattern: /\b(?:const|let) \[[^\]=]*\] = \[/g,
    instead: "give each its own line",
    within: "server/ simulator/ dev-postgres/ sdk/ agents/ cli/ web/ docs/ bench/".split(" "),
    except: {},
  },
  {
    what: "passes on everything that another file exports",
    pattern: /\bexport\s*\*/g,
    instead: "let readers import from the file itself, or name what is passed on",
    within: [""],
    except: {},
  },
];

function capitals(alternatives: string): string {
  return alternatives.replace(/(?<=^|\|)[a-z]/g, (letter) => letter.toUpperCase());
}

export function brokenBans(file: SourceFile): readonly Finding[] {
  if (!isHandwritten(file)) return [];
  const { code } = scan(file.text);
  return bans
    .filter(
      ({ within, except }) => within.some((at) => file.path.startsWith(at)) && !except[file.path],
    )
    .flatMap(({ pattern, what, instead }) =>
      [...code.matchAll(pattern)].map(
        ({ index }) => `${file.path}:${lineAt(code, index)} ${what}: ${instead}`,
      ),
    );
}

/** Remarks to tools and to ourselves, which are in comments. */
export function brokenRemarks(file: SourceFile): readonly Finding[] {
  if (!isHandwritten(file)) return [];
  const { withoutComments } = scan(file.text);
  const uncommented = withoutComments.split("\n");
  return file.text.split("\n").flatMap((line, at) => {
    const comment = line.slice((uncommented[at] ?? "").trimEnd().length);
    const where = `${file.path}:${at + 1}`;
    if (/@ts-(?:ignore|nocheck|expect-error)\b/.test(comment))
      return [`${where} silences the compiler: make the types state what is true`];
    if (/\b(?:TODO|FIXME|XXX|HACK)\b/.test(comment) && !/#\d+/.test(comment))
      return [`${where} leaves something for later: do it, or name the issue as #12`];
    return [];
  });
}

export const columnsMax = 100;
export const linesMax = 500;
/** A test reads as the specification of one subject, which is not cut in the middle. */
export const testLinesMax = 600;
export const functionLinesMax = 70;

/** Too long to be read at once. */
export function brokenSizes(file: SourceFile): readonly Finding[] {
  // A migration is one transaction, and so one file.
  const isSql = file.path.endsWith(".sql") && !file.path.startsWith("migrations/");
  if (!isHandwritten(file) && !isSql) return [];
  const lines = file.text.trimEnd().split("\n");
  const most = file.path.endsWith(".test.ts") ? testLinesMax : linesMax;
  const whole =
    lines.length > most
      ? [`${file.path}:${most + 1} goes on to line ${lines.length}: split it by what it holds`]
      : [];
  if (isSql) return whole;
  const functions = file.path.endsWith(".test.ts") ? [] : longFunctions(file);
  return [...whole, ...longLines(file, lines), ...functions];
}

/** Biome breaks code; a string, an expression or an import may be as long as what it names. */
function longLines(file: SourceFile, lines: readonly string[]): readonly Finding[] {
  const { code, withoutComments } = scan(file.text);
  const bare = code.split("\n");
  const quoted = withoutComments.split("\n");
  return lines.flatMap((line, at) => {
    const columns = [...line].length;
    if (columns <= columnsMax || bare[at] !== quoted[at]) return [];
    return [`${file.path}:${at + 1} has ${columns} columns: break it at ${columnsMax}`];
  });
}

const functionStart =
  /^(?:(?:export |async )*function\b|(?:(?:async |static |get )*\*?[\w$]+\(|(?:export )?const [\w$]+ = (?:async )?(?:\(|function))|.*=> \{$|.*\bfunction\b.*\{$)/;
const controlStart = /^(?:\}\s*)?(?:if|for|while|switch|catch|else|try|do|return new|await)\b/;

/**
 * Functions that are too long, with all that they hold. In tests only a function's own lines count:
 * a `describe` holds its tests. Read by indentation, which the formatter keeps.
 */
function longFunctions(file: SourceFile): readonly Finding[] {
  const lines = scan(file.text).code.split("\n");
  const isTest = file.path.startsWith("test/");
  const open: { indent: number; line: number; inner: number; body: boolean }[] = [];
  const found: Finding[] = [];
  for (const [at, line] of lines.entries()) {
    const text = line.trim();
    if (text === "") continue;
    const indent = line.length - line.trimStart().length;
    const last = open.at(-1);
    if (last && last.indent === indent && last.body && text.startsWith("}")) {
      open.pop();
      const length = at - last.line + 1;
      const counted = isTest ? length - last.inner : length;
      const outer = open.at(-1);
      if (outer) outer.inner += length;
      if (counted > functionLinesMax)
        found.push(
          `${file.path}:${last.line + 1} is a function of ${counted} lines: give its parts names, at most ${functionLinesMax} each`,
        );
    } else if (last && last.indent === indent && !last.body) {
      // The signature was on several lines; here it ends, with a body or without.
      if (text.endsWith("{")) last.body = true;
      else open.pop();
    }
    const begins = functionStart.test(text) && !controlStart.test(text);
    if (begins && /\{$/.test(text)) open.push({ indent, line: at, inner: 0, body: true });
    else if (begins && /\($/.test(text) && /function\b/.test(text))
      open.push({ indent, line: at, inner: 0, body: false });
  }
  return found;
}

const vagueNames = /(?:^|-)(?:utils?|helpers?|common|manager|misc|stuff|base)(?:[-.]|$)/;
const retiredNames = new RegExp(`(?:^|-)(?:${RETIRED})(?:[-.]|$)`);

/** A file is named after what it holds. */
export function brokenNames(file: SourceFile): readonly Finding[] {
  if (!isHandwritten(file)) return [];
  const name = file.path.split("/").at(-1) ?? "";
  const findings: Finding[] = [];
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z]+)?\.tsx?$/.test(name))
    findings.push(
      `${file.path}:1 is not named in kebab-case: small letters and hyphens, as x-y.ts`,
    );
  if (vagueNames.test(name))
    findings.push(`${file.path}:1 has a name that fits anything: name it after what it holds`);
  if (retiredNames.test(name) && file.path.startsWith("server/"))
    findings.push(`${file.path}:1 has a word that the project gave up: use the standard term`);
  return findings;
}

/** A file begins with a map: what it is, its states, its promise. A test's name may be enough. */
export function brokenHeaders(file: SourceFile): readonly Finding[] {
  if (!isHandwritten(file) || /(?:\.test|\.config)\.ts$/.test(file.path)) return [];
  if (/^(?:#!.*\n)?\s*\/[/*]/.test(file.text)) return [];
  return [`${file.path}:1 begins without a comment: say what the file is, its states, its promise`];
}

const foreignTexts: readonly { readonly what: string; readonly pattern: RegExp }[] = [
  {
    what: "names the host of a package registry",
    pattern:
      /\bregistry\.[a-z-]+\.(?:org|com|io|dev)\b|\b(?:proxy\.golang|pypi|pythonhosted)\.org\b|\/\/[\w.-]*(?:artifactory|verdaccio|nexus)\b/g,
  },
  {
    what: "names a path of one machine",
    pattern: /(?<![\w.~$}-])\/(?:work(?!flow)|(?:home|Users|root|tmp)\/[a-z])/gi,
  },
];

/** Texts are the same in every clone of the tree. */
export function brokenTexts(file: SourceFile): readonly Finding[] {
  return foreignTexts.flatMap(({ what, pattern }) =>
    [...file.text.matchAll(pattern)].map(
      ({ index }) =>
        `${file.path}:${lineAt(file.text, index)} ${what}: say it in a way that is true everywhere`,
    ),
  );
}

/** A statement of more lines needs a comment; a shorter one is named after what it does. */
export const bareStatementLinesMax = 4;

/** Statements of a .sql file that no code names, and longer ones without a comment. */
export function brokenStatements(
  file: SourceFile,
  tree: readonly SourceFile[],
): readonly Finding[] {
  if (!file.path.includes("/sql/")) return [];
  const texts = tree.filter(isHandwritten).map(({ text }) => scan(text).withoutComments);
  let next = 1;
  return file.text.split(/^(?=-- name: )/m).flatMap((statement) => {
    const line = next;
    next += statement.split("\n").length - 1;
    if (!statement.startsWith("-- name: ")) return [];
    const [head = "", ...body] = statement.trimEnd().split("\n");
    const name = head.replace("-- name: ", "");
    const where = `${file.path}:${line} ${name}`;
    const isUsed = texts.some((text) => text.includes(`"${name}"`));
    const isBare = body.length > bareStatementLinesMax && !body[0]?.startsWith("--");
    return [
      ...(isUsed ? [] : [`${where} is used by no .ts file: remove it`]),
      ...(isBare ? [`${where} has no comment: say its purpose, its locks and its plan`] : []),
    ];
  });
}
