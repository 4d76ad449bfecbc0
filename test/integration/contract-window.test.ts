/** A release keeps the contract of the versions whose SDKs it has to answer. */
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { requireContractOfWindow, tagsInWindow } from "../../release/contract-window.ts";
import { theVersion } from "../../release/versions.ts";

const root = join(import.meta.dirname, "../..");

test("the window has the last release of three minor versions, of one major version", () => {
  const tags = ["v0.9.0", "v1.0.0", "v1.1.0", "v1.1.10", "v1.1.9", "v1.2.0", "v1.3.0", "sdk/v1"];
  expect(tagsInWindow("1.3.1", tags)).toEqual(["v1.3.0", "v1.2.0", "v1.1.10"]);
  expect(tagsInWindow("1.0.0", ["v0.9.0"])).toEqual([]);
});

describe("the contract of a release", () => {
  test("is, in this commit, one that keeps those of its window", async () => {
    await requireContractOfWindow(root, theVersion());
  });

  /** A repository with the contract of now as that of version 0.1.0. */
  async function repository(): Promise<{ folder: string; file: string }> {
    const folder = mkdtempSync(join(tmpdir(), "drover-window-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const path of ["buf.yaml", "proto/drover", "proto/vendor"])
      cpSync(join(root, path), join(folder, path), { recursive: true });
    const git = (...args: string[]) => promisify(execFile)("git", args, { cwd: folder });
    await git("init", "--quiet");
    await git("add", ".");
    const who = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
    await git(...who, "commit", "--quiet", "--message", "Begin");
    await git("tag", "v0.1.0");
    return { folder, file: join(folder, "proto/drover/v1/payload.proto") };
  }

  test("may have more than the ones before", async () => {
    const { folder, file } = await repository();
    const text = readFileSync(file, "utf8");
    writeFileSync(file, `${text}\n// New.\nmessage New {\n  // Its name.\n  string name = 1;\n}\n`);
    expect(await requireContractOfWindow(folder, "0.3.0")).toEqual(["v0.1.0"]);
  });

  test("may not have less, within the window", async () => {
    const { folder, file } = await repository();
    writeFileSync(file, readFileSync(file, "utf8").replace("string json = 2", "string text = 2"));
    await expect(requireContractOfWindow(folder, "0.3.0")).rejects.toThrow(
      /the contract breaks that of v0\.1\.0:\n.*payload\.proto.*json/s,
    );
    expect(await requireContractOfWindow(folder, "0.4.0")).toEqual([]);
  });
});
