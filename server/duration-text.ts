// Durations as workflow texts have them, exact to the millisecond: `1h30m`, `250ms`, `7d`; whole
// numbers, largest unit first.

/** Largest first. Days are the largest. */
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

/** One group for each unit. */
export const durationForm = new RegExp(
  `^${UNITS.map(([unit]) => `(?:(\\d{1,9})${unit})?`).join("")}$`,
);

/** null: the text is no duration. */
export function durationMs(text: string): number | null {
  const parts = text === "" ? null : durationForm.exec(text);
  if (parts === null) return null;
  return UNITS.reduce((sum, [, length], index) => sum + length * Number(parts[index + 1] ?? 0), 0);
}

/** `1h30m4s`. */
export function durationText(ms: number): string {
  let left = Math.round(ms);
  const parts = UNITS.map(([unit, length]) => {
    const count = Math.floor(left / length);
    left -= count * length;
    return count > 0 ? `${count}${unit}` : "";
  });
  return parts.join("") || "0s";
}
