// Durations as workflow texts write them and people read them, exact to the millisecond: 1d12h.
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

/** `1h30m4s`. Days are the largest unit. */
export function durationText(ms: number): string {
  let left = Math.round(ms);
  const parts = UNITS.map(([unit, length]) => {
    const count = Math.floor(left / length);
    left -= count * length;
    return count > 0 ? `${count}${unit}` : "";
  });
  return parts.join("") || "0s";
}

/** `1h30m`, `250ms`, `7d`: whole numbers, largest unit first. */
export const durationForm =
  /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

/** null: the text is no duration. */
export function durationMs(text: string): number | null {
  const parts = text === "" ? null : durationForm.exec(text);
  if (parts === null) return null;
  return UNITS.reduce((sum, [, unit], index) => sum + unit * Number(parts[index + 1] ?? 0), 0);
}
