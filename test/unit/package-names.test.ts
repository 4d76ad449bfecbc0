/** The names under which packages are found agree with the address of the repository. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const textOf = (file: string) => readFileSync(join(root, file), "utf8");
const found = /"url": "git\+https:\/\/(github\.com\/.+)\.git"/.exec(textOf("package.json"));
const goModule = `${found?.[1]}/sdk/go`;

describe("the Go module", () => {
  test("has the path of its folder in the repository, so that go finds it there", () => {
    expect(/^module (.+)$/m.exec(textOf("sdk/go/go.mod"))?.[1]).toBe(goModule);
  });

  test("contains the package that the contract names", () => {
    const files = globSync("proto/drover/v1/*.proto", { cwd: root });
    expect(files.length).toBeGreaterThan(15);
    for (const file of files)
      expect(textOf(file), file).toContain(`option go_package = "${goModule}/droverpb";`);
  });

  test("is what the command line and the release name", () => {
    for (const file of ["cli/verbs/init.ts", "release/go-module.ts"])
      expect(textOf(file), file).toContain(`"${goModule}"`);
  });
});
