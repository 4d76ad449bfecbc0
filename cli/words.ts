/**
 * Words for people: states, times, durations, and text from elsewhere. No function here reads a
 * clock.
 */
import type { DescEnum } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Payload } from "@drover/proto/drover/v1/payload_pb.ts";
import type { Pause, QueueLimits } from "@drover/proto/drover/v1/queue_pb.ts";

/** The name of an enum value without its prefix; a value of a newer server is shown by number. */
export function word(desc: DescEnum, value: number): string {
  return desc.values.find(({ number }) => number === value)?.localName ?? `${desc.name} ${value}`;
}

/** STEP_FAILED as `step failed`. */
export function phrase(desc: DescEnum, value: number): string {
  return word(desc, value).toLowerCase().replaceAll("_", " ");
}

/** 2026-01-31 12:00:05Z */
export function timeWords(timestamp: Timestamp | undefined): string {
  if (timestamp === undefined) return "";
  return `${new Date(timestampMs(timestamp)).toISOString().slice(0, 19).replace("T", " ")}Z`;
}

/** How long ago, in one unit, as 3m; ahead: in 3m. */
export function ageWords(ms: number): string {
  // Clocks of two machines differ by a little.
  if (ms < -1_000) return `in ${ageWords(-ms)}`;
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** 12:00:05Z */
export function timeOfDay(timestamp: Timestamp | undefined): string {
  return timeWords(timestamp).slice(11);
}

/** The time between two times in at most two units, as 1m05s; empty if one is missing. */
export function between(from: Timestamp | undefined, to: Timestamp | undefined): string {
  return from && to ? durationWords(timestampMs(to) - timestampMs(from)) : "";
}

export function durationWords(ms: number): string {
  if (ms < 0) return `-${durationWords(-ms)}`;
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  const two = (count: number) => String(count).padStart(2, "0");
  const seconds = Math.floor(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes < 60) return `${minutes}m${two(seconds % 60)}s`;
  if (hours < 24) return `${hours}h${two(minutes % 60)}m`;
  return `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}

/**
 * Makes text of agents, callers and servers safe to print in one line: a control character could
 * move the cursor, colour the terminal or forge a line.
 */
export function clean(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Zl}|\p{Zp}|[\u202a-\u202e\u2066-\u2069]/gu, (character) =>
    character === "\n" || character === "\t" ? " " : `\\u${hex(character)}`,
  );
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).padStart(4, "0");
}

/** `1 step`, `2 steps` */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

export function clip(text: string, lengthMax: number): string {
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

const payloadShownMax = 200;

export function payloadWords(payload: Payload | undefined): string {
  return clip(wholePayload(payload), payloadShownMax);
}

export function wholePayload(payload: Payload | undefined): string {
  if (payload === undefined) return "";
  const { body, contentType } = payload;
  if (body.case === "json") return clean(body.value);
  if (body.case === "data") return `${body.value.length} bytes of ${clean(contentType) || "data"}`;
  return "";
}

/** A person's name. It is marked as not verified if the caller only stated it. */
export function statedName(name: string, verified: boolean): string {
  return `${clean(name)}${verified ? "" : " (not verified)"}`;
}

/** since 2026-01-31 12:00:05Z: the bank is down */
export function pauseWords(pause: Pause | undefined): string {
  if (!pause) return "";
  const why = pause.reason === "" ? "" : `: ${clean(pause.reason)}`;
  return `since ${timeWords(pause.sinceTime)}${why}`;
}

/** 10 in progress; 4.5 a second, 5 at once */
export function limitWords(limits: QueueLimits | undefined): string {
  if (!limits) return "";
  const { leased, perSecond, burst } = limits;
  return [
    ...(leased > 0 ? [`${leased} in progress`] : []),
    ...(perSecond > 0 ? [`${perSecond} a second, ${burst} at once`] : []),
  ].join("; ");
}

/** a=b c=d */
export function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${clean(key)}=${clean(value)}`)
    .join(" ");
}
