/** The reference of the command line has what the program takes. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { cliPage } from "../../../docs/cli-page.ts";

it("is the page docs/CLI.md: node docs/generate.ts writes it", async () => {
  const page = readFileSync(new URL("../../../docs/CLI.md", import.meta.url), "utf8");
  expect(page).toBe(await cliPage());
});

it("has a heading for each verb, with what it takes and an example", async () => {
  const [, part = ""] = (await cliPage()).split("### drover run why\n");
  const [why = ""] = part.split("\n### ");
  expect(why).toContain("`drover run why [run]`");
  expect(why).toContain("```sh\ndrover run why ");
});
