/** Durations as people write them: `1h30m`, `250ms`, `7d`; whole numbers, largest unit first. */
export const durationForm =
  /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;
/** Days, hours, minutes, seconds, milliseconds. */
const unitsMs = [86_400_000, 3_600_000, 60_000, 1_000, 1] as const;

/** null: the text is no duration. */
export function durationMs(text: string): number | null {
  const parts = text === "" ? null : durationForm.exec(text);
  if (parts === null) return null;
  return unitsMs.reduce((sum, unit, index) => sum + unit * Number(parts[index + 1] ?? 0), 0);
}
