// Durations as workflow texts write them, exact to the millisecond: 1d12h.
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
