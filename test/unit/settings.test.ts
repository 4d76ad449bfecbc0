/** The thresholds of the watches: one table, checked at the start, and listed as it is. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  CIRCUIT_SETTING_NAMES,
  CIRCUIT_SETTINGS,
  circuitConfig,
  SUPERVISOR_DEFAULTS,
  SUPERVISOR_SETTING_NAMES,
  SUPERVISOR_SETTINGS,
  type SupervisorConfig,
  supervisorConfig,
} from "../../server/config.ts";
import { apiLimitConfig } from "../../server/rpc-config.ts";

test("what is left out has its default, and what was set cannot be changed", () => {
  const config = supervisorConfig({ slowFactor: 3 });
  expect(config).toEqual({ ...SUPERVISOR_DEFAULTS, slowFactor: 3 });
  expect(Object.isFrozen(config) && Object.isFrozen(SUPERVISOR_DEFAULTS)).toBe(true);
});

test("every setting has a name of its own, a default within its bounds, and a reason", () => {
  expect([...SUPERVISOR_SETTING_NAMES].sort()).toEqual(Object.keys(SUPERVISOR_SETTINGS).sort());
  expect(supervisorConfig({})).toEqual(SUPERVISOR_DEFAULTS);
  const flags = SUPERVISOR_SETTING_NAMES.map((name) => SUPERVISOR_SETTINGS[name].flag);
  expect(new Set(flags).size).toBe(flags.length);
  for (const name of SUPERVISOR_SETTING_NAMES)
    expect(SUPERVISOR_SETTINGS[name].why.length).toBeGreaterThan(40);
});

test("all that is wrong is named at once, with its value and what it may be", () => {
  const wrong = () => supervisorConfig({ slowFactor: 0.5, slowSamples: 30.5, jumpMs: Number.NaN });
  expect(wrong).toThrow("--slow-factor is 0.5: give 1 to 100");
  expect(wrong).toThrow("--slow-samples is 30.5: give a whole number 10 to 10000");
  expect(wrong).toThrow("--watch-jump is NaN");
});

test.each(SUPERVISOR_SETTING_NAMES)("%s may be what its bounds are, and nothing beyond", (name) => {
  const { flag, least, most } = SUPERVISOR_SETTINGS[name];
  for (const value of [least, most])
    expect(refusalOf({ [name]: value })).not.toContain(`--${flag} is ${value}:`);
  for (const value of [least - 1, most + 1]) {
    expect(refusalOf({ [name]: value })).toContain(
      `--${flag} is ${value}: give ${least} to ${most}`,
    );
  }
});

/** Empty: it is taken. */
function refusalOf(given: Partial<SupervisorConfig>): string {
  try {
    supervisorConfig(given);
    return "";
  } catch (error) {
    return String(error);
  }
}

test("an agent that polled is not forgotten while its lane counts as polled", () => {
  const given = { pollerRetentionMs: 120_000, polledMs: 60_001 };
  expect(() => supervisorConfig(given)).toThrow(
    "--poller-retention is 120000 ms and --polled 60001 ms",
  );
  expect(supervisorConfig({ ...given, polledMs: 60_000 })).toMatchObject({ polledMs: 60_000 });
});

test("a node is not lost by one slow scan", () => {
  const given = { ownerLostMs: 3_000, ownerPollMs: 1_001 };
  expect(() => supervisorConfig(given)).toThrow("--owner-lost is 3000 ms and --owner-poll 1001 ms");
  expect(supervisorConfig({ ...given, ownerPollMs: 1_000 })).toMatchObject({ ownerPollMs: 1_000 });
});

test("a gap that every two scans exceed is refused: silence would never count", () => {
  expect(() => supervisorConfig({ gapMs: 1_000 })).toThrow("--watch-gap is 1000 ms");
});

test.each(CIRCUIT_SETTING_NAMES)("%s may be what its bounds are, and nothing beyond", (name) => {
  const { flag, unit, least, most } = CIRCUIT_SETTINGS[name];
  // The longest cool-down is as long as the first at least.
  const beside =
    name === "cooldownMs" ? { cooldownMsMax: CIRCUIT_SETTINGS.cooldownMsMax.most } : {};
  const rest = name === "cooldownMsMax" ? { cooldownMs: CIRCUIT_SETTINGS.cooldownMs.least } : {};
  for (const value of [least, most])
    expect(circuitConfig({ ...beside, ...rest, [name]: value })).toMatchObject({ [name]: value });
  const step = unit === "share" ? 0.005 : 1;
  for (const value of [least - step, most + step])
    expect(() => circuitConfig({ ...beside, ...rest, [name]: value })).toThrow(`--${flag} is `);
});

test("the longest cool-down of a circuit is not shorter than the first", () => {
  const given = { cooldownMs: 2_000, cooldownMsMax: 1_999 };
  expect(() => circuitConfig(given)).toThrow("--circuit-cooldown-max is 1999 ms");
});

test("the page on circuits lists each setting with its default, its bounds and its reason", () => {
  const page = readFileSync(new URL("../../docs/CIRCUITS.md", import.meta.url), "utf8");
  for (const name of CIRCUIT_SETTING_NAMES) {
    const { flag, unit, byDefault, least, most, why } = CIRCUIT_SETTINGS[name];
    const number = (value: number) => (unit === "share" ? `${value * 100} %` : String(value));
    const formatted = (value: number) => (unit === "ms" ? durationText(value) : number(value));
    const bounds = `${formatted(least)} to ${formatted(most)}`;
    expect(page).toContain(`| \`--${flag}\` | ${formatted(byDefault)} | ${bounds} | ${why} |`);
  }
});

test("the page on detection lists each setting with its default, its bounds and its reason", () => {
  const page = readFileSync(new URL("../../docs/DETECTION.md", import.meta.url), "utf8");
  for (const name of SUPERVISOR_SETTING_NAMES) {
    const { flag, unit, byDefault, least, most, why } = SUPERVISOR_SETTINGS[name];
    const formatted = (value: number) => (unit === "ms" ? durationText(value) : String(value));
    const bounds = `${formatted(least)} to ${formatted(most)}`;
    expect(page).toContain(`| \`--${flag}\` | ${formatted(byDefault)} | ${bounds} | ${why} |`);
  }
});

function durationText(ms: number): string {
  const units = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ] as const;
  const [size, unit] = units.find(([one]) => ms % one === 0) ?? [1, "ms"];
  return `${ms / size} ${unit}`;
}

test("how many may call is set in whole numbers within bounds, and what is left out stays so", () => {
  expect(apiLimitConfig({})).toEqual({});
  expect(apiLimitConfig({ waitingCallsMax: 40_000 })).toEqual({ waitingCallsMax: 40_000 });
  expect(() => apiLimitConfig({ waitingCallsMax: 1.5, connectionsMax: 2 })).toThrow(
    "--connections is 2: give 10 to 1000000; --waiting-calls is 1.5: give a whole number 10 to 1000000",
  );
});
