/** The settings in effect of a run, with the defaults that follow from what its author set. */

import { SettingSource } from "@drover/proto/drover/v1/run_pb.ts";
import { expect, test } from "vitest";
import { effectiveSettings } from "../../server/api/workflow/effective-settings.ts";
import { planOf } from "../../server/core/plan/plan.ts";
import { workflow } from "../support/core-world.ts";

const HOUR = 3_600_000;
const { DEFAULT, DEFINITION } = SettingSource;

test("a callback of two days has a total that allows it, and a total that is set stays", () => {
  const settingsOf = (timeouts: object) => {
    const definition = workflow({ a: { timeouts } });
    return effectiveSettings(definition, planOf(definition), null);
  };
  expect(settingsOf({ callbackMs: 48 * HOUR })).toEqual(
    expect.arrayContaining([
      { stepId: "a", field: "timeouts.callback", value: "2d", source: DEFINITION },
      { stepId: "a", field: "timeouts.total", value: "2d15m", source: DEFAULT },
    ]),
  );
  expect(settingsOf({ callbackMs: HOUR, totalMs: 2 * HOUR })).toEqual(
    expect.arrayContaining([
      { stepId: "a", field: "timeouts.total", value: "2h", source: DEFINITION },
    ]),
  );
});
