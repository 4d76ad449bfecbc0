// Durations and times as text.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * `820 ms`, `3.2 s`, `4 min 10 s`, `2 h 5 min`, `3 d 4 h`; "coarse" leaves out the smaller unit.
 */
export function durationWords(ms: number, how: "fine" | "coarse" = "fine"): string {
  if (ms < SECOND) return how === "coarse" ? "0 s" : `${Math.round(ms)} ms`;
  if (ms < MINUTE) {
    const seconds = ms / SECOND;
    return how === "fine" && seconds < 10 ? `${seconds.toFixed(1)} s` : `${Math.floor(seconds)} s`;
  }
  if (ms < HOUR) return parts(ms, [MINUTE, "min"], [SECOND, "s"], how);
  if (ms < DAY) return parts(ms, [HOUR, "h"], [MINUTE, "min"], how);
  return parts(ms, [DAY, "d"], [HOUR, "h"], how);
}

type Unit = readonly [ms: number, name: string];

function parts(ms: number, [big, bigName]: Unit, [small, name]: Unit, how: "fine" | "coarse") {
  const most = Math.floor(ms / big);
  const rest = Math.floor((ms % big) / small);
  return how === "coarse" || rest === 0
    ? `${most} ${bigName}`
    : `${most} ${bigName} ${rest} ${name}`;
}

/** `2026-02-07 12:00:01.250` in the reader's time zone, with the name of the zone. */
export function exactTime(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${clockTime(ms)} (${zone})`;
}

/** `12:00:01.250` */
export function clockTime(ms: number): string {
  const at = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  const seconds = `${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return `${two(at.getHours())}:${two(at.getMinutes())}:${seconds}`;
}

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** In the form of a `datetime-local` field, to the minute, in the reader's time zone. */
export function fieldTime(ms: number): string {
  const at = new Date(ms);
  return new Date(ms - at.getTimezoneOffset() * MINUTE).toISOString().slice(0, 16);
}

/** null: the field is empty, or has no valid time. */
export function timeOfField(text: string): number | null {
  const ms = new Date(text).getTime();
  return Number.isNaN(ms) ? null : ms;
}
