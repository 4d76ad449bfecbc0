// Durations as the pages write them: the largest unit that divides them.
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

export function words(ms: number): string {
  const unit = UNITS.find(([, length]) => ms >= length && ms % length === 0);
  return unit ? `${ms / unit[1]} ${unit[0]}` : `${ms} ms`;
}
