/** Settings on the command line and in the environment, and which of the two counts. */
import { Command } from "commander";
import { afterEach, expect, test, vi } from "vitest";
import {
  addCircuitSettings,
  addSettings,
  circuitsOf,
  type SettingOptions,
  settingsOf,
} from "../../../cli/settings.ts";
import { CIRCUIT_SETTINGS, SUPERVISOR_SETTINGS } from "../../../server/config.ts";
import { CIRCUIT_DEFAULTS } from "../../../server/core/model/circuit.ts";
import { durationText } from "../../../server/duration-text.ts";

afterEach(() => vi.unstubAllEnvs());

function parsed(...args: readonly string[]): SettingOptions {
  const command = addCircuitSettings(addSettings(new Command())).exitOverride();
  return command
    .configureOutput({ writeErr: () => undefined })
    .parse(args, { from: "user" })
    .opts();
}

const nameOf = (flag: string) => `DROVER_${flag.toUpperCase().replaceAll("-", "_")}`;
const textOf = (unit: string, value: number) =>
  unit === "ms" ? durationText(value) : String(value);

test.each(Object.entries(SUPERVISOR_SETTINGS))(
  "%s is an option and a variable",
  (name, setting) => {
    const { flag, unit, most, byDefault } = setting;
    // Of those that are bound to another one: as they are by default.
    const isBound = ["scanEveryMs", "polledMs", "ownerPollMs"].includes(name);
    const value = isBound ? byDefault : most;
    expect(settingsOf(parsed(`--${flag}`, textOf(unit, value)))).toMatchObject({ [name]: value });
    vi.stubEnv(nameOf(flag), textOf(unit, value));
    expect(settingsOf(parsed())).toMatchObject({ [name]: value });
    expect(settingsOf(parsed(`--${flag}`, textOf(unit, byDefault)))).toMatchObject({
      [name]: byDefault,
    });
  },
);

test.each(Object.entries(CIRCUIT_SETTINGS))("%s is an option and a variable", (name, setting) => {
  const { flag, unit, byDefault } = setting;
  const value = name === "share" ? 0.5 : byDefault + 1_000;
  const text = unit === "share" ? "50" : textOf(unit, value);
  expect(circuitsOf(parsed(`--${flag}`, text))).toEqual({ ...CIRCUIT_DEFAULTS, [name]: value });
  vi.stubEnv(nameOf(flag), text);
  expect(circuitsOf(parsed())).toEqual({ ...CIRCUIT_DEFAULTS, [name]: value });
});

test("one that is out of its bounds is a mistake of usage, reported with its bounds", () => {
  const why = "--circuit-window is 5000: give 10000 to 3600000";
  expect(() => circuitsOf(parsed("--circuit-window", "5s"))).toThrow(why);
  expect(() => circuitsOf(parsed("--circuit-share", "101"))).toThrow("--circuit-share is 101");
  expect(() => settingsOf(parsed("--owner-moves", "0"))).toThrow("--owner-moves is 0");
  expect(() => parsed("--circuit-ends", "many")).toThrow("Numbers are written as");
});
