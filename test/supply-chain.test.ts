/**
 * What Drover is made of besides its own code: each package is listed, has a licence that is
 * allowed for its use, is pinned by its content, and runs nothing when it is installed.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, test } from "vitest";
import { lockedPackages } from "../deploy/sbom/locked-packages.ts";
import {
  goLicences,
  javaLicences,
  type Licences,
  pythonLicences,
  rustLicences,
} from "./support/reviewed-licences.ts";
import { treeRoot } from "./support/tree.ts";

const run = promisify(execFile);
const packages = lockedPackages();
const read = (path: string) => readFileSync(join(treeRoot, path), "utf8");

/** Licences without a duty to publish what is built with them. */
const PERMISSIVE = [
  "0BSD",
  "Apache-2.0",
  "Apache-2.0 WITH LLVM-exception",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "Unicode-3.0",
  "Unlicense",
  "Zlib",
];
const ALLOWED = {
  production: PERMISSIVE,
  // A tool whose own files have to stay open is no part of what it builds or tests.
  development: [...PERMISSIVE, "CC0-1.0", "EPL-2.0", "MPL-2.0"],
} as const;

/** Of an SPDX expression: all parts of an AND, any part of an OR. */
function isAllowed(licence: string, allowed: readonly string[]): boolean {
  const plain = licence.trim();
  const inner = /^\(([^()]*)\)$/.exec(plain)?.[1];
  if (inner !== undefined) return isAllowed(inner, allowed);
  const parts = (word: string) => plain.split(new RegExp(` ${word} (?![^(]*\\))`));
  if (parts("AND").length > 1) return parts("AND").every((part) => isAllowed(part, allowed));
  if (parts("OR").length > 1) return parts("OR").some((part) => isAllowed(part, allowed));
  return allowed.includes(plain);
}

describe("licences", () => {
  test.each([
    ["MIT", true],
    ["GPL-3.0-only", false],
    ["", false],
    ["SEE LICENSE IN x", false],
    ["MIT OR GPL-3.0-only", true],
    ["(MIT AND GPL-3.0-only)", false],
    ["(MIT OR Apache-2.0) AND Unicode-3.0", true],
    ["(GPL-2.0-only OR AGPL-3.0-only) AND MIT", false],
    ["MPL-2.0", false],
  ])("%j in production: %j", (licence, allowed) => {
    expect(isAllowed(licence, ALLOWED.production)).toBe(allowed);
  });

  test.each(["production", "development"] as const)("of npm packages for %s", (use) => {
    const of = packages.filter((one) => one.use === use);
    expect(of.length).toBeGreaterThan(50);
    const refused = of.filter(({ licence }) => !isAllowed(licence, ALLOWED[use]));
    expect(refused.map(({ name, licence }) => `${name}: ${licence || "none"}`)).toEqual([]);
  });

  const goModules = (path: string) => matches(path, /^\t(\S+) v\S+/gm);
  const mavenPackages = (path: string, end = "") =>
    matches(
      path,
      new RegExp(
        String.raw`<groupId>([^<]+)</groupId>\s*<artifactId>([^<]+)</artifactId>\s*<version>[^<]+</version>${end}`,
        "g",
      ),
    );
  type Use = keyof typeof ALLOWED;
  const LOCKS: [string, Licences, readonly string[], Use?][] = [
    ["sdk/go/go.mod", goLicences, goModules("sdk/go/go.mod")],
    ["agents-examples/stubs/go/go.mod", goLicences, goModules("agents-examples/stubs/go/go.mod")],
    [
      "test/support/traced-agents/go/go.mod",
      goLicences,
      goModules("test/support/traced-agents/go/go.mod"),
    ],
    ...["sdk/python/requirements.txt", "agents-examples/stubs/python/requirements.txt"].map(
      (path): [string, Licences, readonly string[]] => [
        path,
        pythonLicences,
        matches(path, /^([\w.-]+)==/gm),
      ],
    ),
    [
      "agents-examples/stubs/java/pom.xml",
      javaLicences,
      mavenPackages("agents-examples/stubs/java/pom.xml"),
    ],
    // What its users get, and all, with what builds and tests it.
    ["sdk/java/pom.xml", javaLicences, mavenPackages("sdk/java/pom.xml", "\\s*(?!<scope>test)<")],
    [
      "sdk/java/pom.xml and its tests",
      javaLicences,
      mavenPackages("sdk/java/pom.xml"),
      "development",
    ],
    [
      "cli/projects/java/pom.xml.template",
      javaLicences,
      mavenPackages("cli/projects/java/pom.xml.template"),
      "development",
    ],
    [
      "agents-examples/stubs/rust/Cargo.lock",
      rustLicences,
      matches("agents-examples/stubs/rust/Cargo.lock", /^name = "([^"]+)"/gm),
    ],
  ];

  test.each(LOCKS)("of %s", (_path, licences, names, use = "production") => {
    const licenceOf = new Map(
      Object.entries(licences).flatMap(([licence, of]) =>
        of.split(" ").map((name) => [name, licence] as const),
      ),
    );
    const others = names.filter((name) => !OWN.has(name));
    expect(others.length).toBeGreaterThan(2);
    const refused = others.filter((name) => !isAllowed(licenceOf.get(name) ?? "", ALLOWED[use]));
    const help = "read the licence of each, and add it to test/support/reviewed-licences.ts";
    expect(refused, help).toEqual([]);
  });
});

/** Drover's own modules among those of a lock. */
const OWN = new Set([
  "agent",
  "com.example:agent",
  "dev.drover:drover-sdk",
  "example:{{name}}",
  "github.com/drover-dev/drover/sdk/go",
]);

function matches(path: string, pattern: RegExp): readonly string[] {
  return [...read(path).matchAll(pattern)].map(([, ...groups]) => groups.join(":"));
}

/**
 * Each is code that runs with the database password of a server. Before adding one: is an existing
 * dependency enough (CONTRIBUTING.md)? Add its reason here.
 */
const SERVER_DEPENDENCIES: Readonly<Record<string, string>> = {
  "@bufbuild/cel": "expressions of workflows",
  "@bufbuild/cel-spec": "the syntax tree of expressions",
  "@bufbuild/protobuf": "messages of the contract",
  "@bufbuild/protovalidate": "rules of the contract",
  "@bufbuild/re2": "patterns of authors, in linear time",
  "@connectrpc/connect": "JSON over HTTP",
  "@connectrpc/connect-node": "JSON over HTTP",
  "@drover/proto": "the contract",
  "@grpc/grpc-js": "native gRPC",
  "@opentelemetry/api": "traces and metrics",
  "@opentelemetry/exporter-prometheus": "the page of metrics",
  "@opentelemetry/exporter-trace-otlp-grpc": "traces over gRPC",
  "@opentelemetry/exporter-trace-otlp-proto": "traces over HTTP",
  "@opentelemetry/resources": "traces and metrics",
  "@opentelemetry/sdk-metrics": "metrics",
  "@opentelemetry/sdk-trace": "traces",
  ajv: "JSON Schema",
  croner: "cron expressions",
  "hdr-histogram-js": "quantiles of durations",
  jose: "JWT of an OpenID provider",
  kysely: "composed lists",
  pg: "PostgreSQL",
  pino: "logs",
  "pino-pretty": "logs on a terminal",
  yaml: "definitions",
};
/** Code that runs with the token of a person, or starts a server. */
const COMMAND_DEPENDENCIES: Readonly<Record<string, string>> = {
  "@bufbuild/protobuf": "messages of the contract",
  "@connectrpc/connect": "calls to a server",
  "@connectrpc/connect-node": "calls to a server",
  "@dagrejs/dagre": "the layout of graphs",
  "@drover/agents": "drover agent http and drover agent shell",
  "@drover/dev-postgres": "drover dev",
  "@drover/proto": "the contract",
  "@drover/sdk": "drover bench and drover mcp",
  "@drover/server": "drover server, and the check of workflows",
  "@drover/simulator": "drover workflow test",
  "@modelcontextprotocol/server": "drover mcp: the protocol, by its official SDK",
  commander: "arguments and options",
  diff: "drover workflow show --diff",
  "hdr-histogram-js": "quantiles of drover bench",
  yaml: "settings and outputs",
  zod: "drover mcp: schemas of tools, which the SDK of the protocol has, too",
};
/** All that come with them, too. A new one is looked at, and then counted here. */
const SERVER_PACKAGES_MAX = 150;

describe("dependencies of the product", () => {
  it.each([
    ["server", SERVER_DEPENDENCIES],
    ["cli", COMMAND_DEPENDENCIES],
  ])("of %s are the listed ones", (folder, listed) => {
    const manifest: unknown = JSON.parse(read(`${folder}/package.json`));
    const names = Object.keys(
      (typeof manifest === "object" &&
        manifest !== null &&
        Reflect.get(manifest, "dependencies")) ||
        {},
    );
    expect(names.sort()).toEqual(Object.keys(listed).sort());
  });

  it("bring few others", () => {
    const production = packages.filter(({ use }) => use === "production");
    expect(production.length).toBeLessThanOrEqual(SERVER_PACKAGES_MAX);
  });
});

describe("the lock", () => {
  it("pins each package by a digest of its content", () => {
    const open = packages.filter(({ integrity }) => !/^sha512-/.test(integrity));
    expect(open.map(({ name }) => name)).toEqual([]);
  });

  it("takes packages from the registry alone, whichever it is", () => {
    const elsewhere = packages.filter(({ resolved }) => resolved !== "");
    expect(elsewhere.map(({ name, resolved }) => `${name}: ${resolved}`)).toEqual([]);
  });

  it("has no package that runs a program when it is installed, and npm refuses a new one", () => {
    const scripted = new Set(
      packages.flatMap(({ name, hasInstallScript }) => (hasInstallScript ? [name] : [])),
    );
    const manifest: unknown = JSON.parse(read("package.json"));
    const denied = Object.fromEntries([...scripted].sort().map((name) => [name, false]));
    expect(manifest).toHaveProperty("allowScripts", denied);
    expect(read(".npmrc")).toMatch(/^strict-allow-scripts=true$/m);
  });
});

describe("npm run sbom", () => {
  it("names each package of the product with version, licence and digest, and no other", async () => {
    const { stdout } = await run(process.execPath, [join(treeRoot, "deploy/sbom/main.ts")], {
      maxBuffer: 64 * 1024 * 1024,
    });
    const bom: Bom = JSON.parse(stdout);
    expect(bom).toMatchObject({
      bomFormat: "CycloneDX",
      metadata: { component: { name: "drover" } },
    });
    const found = bom.components
      .filter(({ purl }) => !purl.startsWith("pkg:npm/%40drover/"))
      .map(({ purl, licenses, hashes }) => ({
        purl,
        licence: licenses.map(({ license, expression }) => license?.id ?? expression).join(),
        digest: hashes.map(({ alg }) => alg).join(),
      }));
    const expected = packages
      .filter(({ use }) => use === "production")
      .map(({ name, version, licence }) => ({
        purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
        licence,
        digest: "SHA-512",
      }));
    const byPurl = (a: { purl: string }, b: { purl: string }) => (a.purl < b.purl ? -1 : 1);
    expect(found.sort(byPurl)).toEqual(expected.sort(byPurl));
  });
});

interface Bom {
  readonly components: readonly {
    readonly purl: string;
    readonly licenses: readonly {
      readonly license?: { readonly id: string };
      readonly expression?: string;
    }[];
    readonly hashes: readonly { readonly alg: string }[];
  }[];
}
