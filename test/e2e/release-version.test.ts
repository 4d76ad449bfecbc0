/** `npm run release:version`, carried out on a copy of what it reads and writes. */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { theVersion } from "../../release/versions.ts";

const root = join(import.meta.dirname, "../..");
const COPIED = [
  "{package,package-lock}.json",
  "{proto,server,simulator,dev-postgres,cli,agents,agents-examples,web,site}/package.json",
  "{sdk/typescript,test/support/otel-v2}/package.json",
  "sdk/python/pyproject.toml",
  "sdk/java/{pom.xml,README.md}",
  "deploy/{compose.yaml,container/Containerfile,helm/drover/Chart.yaml}",
  ".changeset/config.json",
  "release/*.ts",
  "CHANGELOG.md",
];

function copyOfTheRepository(): string {
  const copy = mkdtempSync(join(tmpdir(), "drover-version-"));
  onTestFinished(() => rmSync(copy, { recursive: true }));
  for (const path of globSync(COPIED, { cwd: root })) {
    mkdirSync(dirname(join(copy, path)), { recursive: true });
    cpSync(join(root, path), join(copy, path));
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  return copy;
}

test("the next version is that of all packages, and its changes are in the changelog", async () => {
  const copy = copyOfTheRepository();
  const textOf = (path: string) => readFileSync(join(copy, path), "utf8");
  const release = () =>
    promisify(execFile)(process.execPath, ["release/version.ts"], { cwd: copy });
  await expect(release()).rejects.toThrow(
    "there is no changeset, so nothing to release: npm run changeset",
  );

  const changeset = join(copy, ".changeset/quick-cows.md");
  writeFileSync(changeset, '---\n"@drover/sdk": minor\n---\n\nAgents can sing.\n');
  const [major, minor] = theVersion().split(".");
  const next = `${major}.${Number(minor) + 1}.0`;
  expect((await release()).stdout).toContain(`all packages have version ${next}`);
  expect(textOf("sdk/python/pyproject.toml")).toContain(`\nversion = "${next}"\n`);
  expect(JSON.parse(textOf("cli/package.json"))).toMatchObject({
    version: next,
    dependencies: { "@drover/server": next },
  });
  const today = new Date().toISOString().slice(0, 10);
  expect(textOf("CHANGELOG.md")).toMatch(
    new RegExp(`\n## \\[${next}\\]: ${today}\n\n- Agents can sing\\.\n\n## `),
  );
  expect(textOf("package-lock.json")).not.toContain(
    `"version": "${theVersion()}",\n      "license"`,
  );
  expect(existsSync(changeset)).toBe(false);
});
