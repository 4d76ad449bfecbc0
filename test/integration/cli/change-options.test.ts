// Why a person changes something, and who it is: one pair of options for every verb.
import type { Command } from "commander";
import { describe, expect, it, test } from "vitest";
import { createProgram } from "../../../cli/program.ts";
import { scriptedServer } from "./fixture.ts";

const server = scriptedServer();

function optionsOf(command: Command): readonly (readonly [long: string, about: string])[] {
  const own = command.options.map(({ long, description }) => [long ?? "", description] as const);
  return [...own, ...command.commands.flatMap(optionsOf)];
}

test.each(["--by", "--reason"])("%s means the same wherever it is taken", async (long) => {
  const all = optionsOf(await createProgram("0", () => undefined));
  const about = all
    // Of a list, it selects by the person.
    .filter(([name, text]) => name === long && !text.startsWith("only "))
    .map(([, text]) => text);
  expect(about.length).toBeGreaterThan(5);
  expect(new Set(about).size).toBe(1);
});

test("no verb has another name for them", async () => {
  const names = new Set(optionsOf(await createProgram("0", () => undefined)).map(([name]) => name));
  for (const other of ["--why", "--comment", "--as"]) expect(names).not.toContain(other);
});

describe("without --by the person", () => {
  async function claimedBy(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
    let person = "nobody";
    server.play({
      claimEscalation({ by }) {
        person = by;
        return {};
      },
    });
    const ended = await server.drover(["escalation", "claim", "r1/1", ...args], { env });
    return { ...ended, person };
  }

  it("is DROVER_USER, else USER", async () => {
    const env = { DROVER_USER: "ada", USER: "root" };
    expect(await claimedBy(env)).toMatchObject({ code: 0, person: "ada" });
    expect(await claimedBy({ USER: "root" })).toMatchObject({ code: 0, person: "root" });
    expect(await claimedBy(env, "--by", "eve")).toMatchObject({ code: 0, person: "eve" });
  });

  it("is a mistake if neither is set", async () => {
    const { code, stderr, person } = await claimedBy({ DROVER_USER: "" });
    expect({ code, person }).toEqual({ code: 2, person: "nobody" });
    expect(stderr).toBe(
      "drover: it is unknown who you are\n  next: --by NAME, or set DROVER_USER\n",
    );
  });
});
