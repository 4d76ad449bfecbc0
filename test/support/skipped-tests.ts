/** Prints at the end of a run which tests were skipped because this machine lacks something. */
import type { Reporter } from "vitest/node";

/** Of one file with one reason; if there are more, their number is printed. */
const NAMES_MAX = 10;

export const skippedForLack: Reporter = {
  onTestRunEnd(modules) {
    const byReason = new Map<string, string[]>();
    for (const { children, relativeModuleId } of modules) {
      const ofFile = new Map<string, string[]>();
      for (const test of children.allTests("skipped")) {
        const result = test.result();
        if (result.state !== "skipped" || result.note === undefined) continue;
        const names = ofFile.get(result.note) ?? [];
        ofFile.set(result.note, [...names, `${relativeModuleId}: ${test.fullName}`]);
      }
      for (const [reason, names] of ofFile) {
        const listed =
          names.length > NAMES_MAX ? [`${relativeModuleId}: ${names.length} tests`] : names;
        byReason.set(reason, [...(byReason.get(reason) ?? []), ...listed]);
      }
    }
    for (const [reason, names] of byReason)
      process.stdout.write(`skipped: ${reason}\n${names.map((name) => `  ${name}\n`).join("")}`);
  },
};
