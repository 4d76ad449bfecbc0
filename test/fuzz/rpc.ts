// Calls of every RPC of the contract: as bytes over native gRPC, as JSON over HTTP, with mutated
// bytes, as streams that are cancelled.
import {
  type DescMethod,
  fromBinary,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { AgentService } from "@drover/proto/drover/v1/agent_service_pb.ts";
import { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { SchedulerService } from "@drover/proto/drover/v1/scheduler_service_pb.ts";
import type { Chance } from "../../simulator/chance.ts";
import { mutatedBytes } from "./bytes.ts";
import { pathOf } from "./calls.ts";
import type { Sent } from "./findings.ts";
import { randomMessage, WILD_TEXTS } from "./messages.ts";
import type { Planted } from "./plant.ts";

/** What is to be sent, without what the caller knows: kind, seed, round and index. */
export type Draft = Omit<Sent, "kind" | "seed" | "round" | "index">;

const METHODS: readonly DescMethod[] = [SchedulerService, OperatorService, AgentService].flatMap(
  ({ methods }) => methods,
);
const UNARY = METHODS.filter(({ methodKind }) => methodKind === "unary");
const STREAMS = METHODS.filter(({ methodKind }) => methodKind === "server_streaming");
const BY_PATH = new Map(METHODS.map((method) => [pathOf(method), method]));

/** How much of a message is wrong: often nothing, so that calls reach what they ask for. */
const WRONG = [0, 0, 0.01, 0.05, 0.3];

export function methodOf(path: string): DescMethod | null {
  return BY_PATH.get(path) ?? null;
}

export const rpcNames: readonly string[] = METHODS.map(pathOf);

/** Calls that wait by themselves; a poll carried by Complete waits too. */
export function isWait(path: string): boolean {
  return /\/(PollTask|WaitRun|Complete|WatchRun|WatchOverview)$/.test(path);
}

/** The method of this turn, so that all of them have theirs. */
function turn(methods: readonly DescMethod[], index: number): DescMethod {
  const method = methods[index % methods.length];
  if (!method) throw new Error("the contract has no methods");
  return method;
}

function messageFor(method: DescMethod, chance: Chance, { words }: Planted): Message {
  const style = { words, wrong: chance.pick(WRONG), full: chance.pick([0.3, 0.6, 0.9]) };
  const message = randomMessage(method.input, chance, style);
  // A request in the namespace of the round is worth more than one that names none.
  if ("namespace" in message && message.namespace === "" && chance.happens(0.8))
    Reflect.set(message, "namespace", words.namespace?.at(-1));
  return message;
}

export function rpcDraft(index: number, chance: Chance, planted: Planted): Draft {
  const method = turn(UNARY, index);
  const message = messageFor(method, chance, planted);
  const json = chance.happens(0.4) ? jsonOf(method, message) : undefined;
  if (json !== undefined) {
    const text = jsonText(chance.happens(0.3) ? mutatedJson(json, chance) : json, chance);
    return {
      how: "http",
      what: `POST ${pathOf(method)}`,
      headers: { "content-type": "application/json" },
      base64: Buffer.from(text).toString("base64"),
      text,
    };
  }
  return grpcDraft(method, toBinary(method.input, message));
}

export function binaryDraft(index: number, chance: Chance, planted: Planted): Draft {
  const method = turn(UNARY, index);
  const whole = toBinary(method.input, messageFor(method, chance, planted));
  const { bytes, mutations } = mutatedBytes(whole, chance);
  const draft = grpcDraft(method, bytes, ` (${mutations.join(", ")})`);
  if (chance.happens(0.7)) return draft;
  const types = ["application/proto", "application/grpc-web+proto", "application/connect+proto"];
  const type = chance.pick(types);
  const body = type === "application/proto" ? bytes : enveloped(bytes, chance);
  return {
    how: "http",
    what: `POST ${pathOf(method)}`,
    headers: { "content-type": type },
    base64: Buffer.from(body).toString("base64"),
    text: draft.text,
  };
}

export function streamDraft(index: number, chance: Chance, planted: Planted): Draft {
  const method = turn(STREAMS, index);
  const whole = toBinary(method.input, messageFor(method, chance, planted));
  const bytes = chance.happens(0.2) ? mutatedBytes(whole, chance).bytes : whole;
  return { ...grpcDraft(method, bytes), how: "stream" };
}

function grpcDraft(method: DescMethod, bytes: Uint8Array, note = ""): Draft {
  return {
    how: "grpc",
    what: pathOf(method),
    base64: Buffer.from(bytes).toString("base64"),
    text: textOf(method, bytes) + note,
  };
}

/** As people read it. */
export function textOf(method: DescMethod, bytes: Uint8Array): string {
  try {
    return JSON.stringify(jsonOf(method, fromBinary(method.input, bytes)) ?? null);
  } catch {
    return "no message";
  }
}

/** undefined: JSON has no form for it, such as a time after the year 9999. */
function jsonOf(method: DescMethod, message: Message): JsonValue | undefined {
  try {
    return toJson(method.input, message);
  } catch {
    return undefined;
  }
}

/** Lone surrogates are escaped, as UTF-8 cannot have them. */
function jsonText(json: JsonValue, chance: Chance): string {
  const text = JSON.stringify(json);
  if (!chance.happens(0.1)) return text;
  const at = chance.between(0, text.length);
  return (
    text.slice(0, at) + chance.pick(["\u0000", '"', "{", ",", "//", "\ufeff"]) + text.slice(at)
  );
}

const ODD_JSON: readonly JsonValue[] = [
  null,
  true,
  -1,
  1.5,
  1e308,
  2 ** 53,
  "1e400",
  "-0",
  "99999999999999999999",
  "2026-13-45T99:00:00Z",
  "-9999999999999s",
  "0.0000000001s",
  [],
  {},
  [[[[[[]]]]]],
  { "@type": "type.googleapis.com/google.rpc.ErrorInfo" },
  JSON.parse('{"__proto__":{"x":1}}'),
];

function mutatedJson(json: JsonValue, chance: Chance): JsonValue {
  if (chance.happens(0.15)) return chance.pick([...ODD_JSON, ...WILD_TEXTS]);
  if (Array.isArray(json)) {
    const items = json.map((item) => (chance.happens(0.5) ? mutatedJson(item, chance) : item));
    return chance.happens(0.1) ? [...items, ...items] : items;
  }
  if (typeof json !== "object" || json === null) return json;
  const entries = Object.entries(json).map(([key, value]) => [
    chance.happens(0.03) ? `${key}x` : key,
    chance.happens(0.4) ? mutatedJson(value, chance) : value,
  ]);
  return Object.fromEntries(entries);
}

/** Flags and length before a message; sometimes they do not tell the truth. */
function enveloped(bytes: Uint8Array, chance: Chance): Uint8Array {
  const head = Buffer.alloc(5);
  head[0] = chance.happens(0.3) ? chance.pick([1, 2, 0x80, 0xff]) : 0;
  const length = chance.happens(0.3) ? chance.pick([0, 2 ** 31, 2 ** 32 - 1, 1]) : bytes.length;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, bytes]);
}

/** Smaller messages of the same kind, for shrinking: each lacks one part. */
export function smallerBytes(method: DescMethod, bytes: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  const without = (change: (whole: Message) => void) => {
    const copy = fromBinary(method.input, bytes);
    change(copy);
    const made = toBinary(method.input, copy);
    if (made.length < bytes.length) found.push(made);
  };
  try {
    visit(fromBinary(method.input, bytes), [], (path) => {
      without((whole) => drop(whole, path));
    });
  } catch {
    for (const size of [2, 4, 8, 16])
      for (let part = 0; part < size; part++) {
        const [from, to] = [part, part + 1].map((no) => Math.floor((bytes.length * no) / size));
        found.push(Uint8Array.from([...bytes.subarray(0, from), ...bytes.subarray(to)]));
      }
  }
  return found;
}

type Path = readonly (string | number)[];

function visit(value: unknown, path: Path, found: (path: Path) => void): void {
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return;
  for (const key of Object.keys(value)) {
    if (key.startsWith("$") || key === "case") continue;
    found([...path, key]);
    visit(Reflect.get(value, key), [...path, key], found);
  }
}

function drop(whole: object, path: Path): void {
  const [last, ...rest] = path.toReversed();
  let parent: unknown = whole;
  for (const key of rest.toReversed()) {
    if (typeof parent !== "object" || parent === null) return;
    parent = Reflect.get(parent, key);
  }
  if (typeof parent !== "object" || parent === null || last === undefined) return;
  const value: unknown = Reflect.get(parent, last);
  if (Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (typeof value === "string") Reflect.set(parent, last, value.slice(0, value.length >> 1));
  else if (typeof value === "number") Reflect.set(parent, last, 0);
  else if (typeof value === "object" && value !== null && "case" in value)
    Reflect.set(parent, last, { case: undefined });
  else if (Array.isArray(value)) Reflect.set(parent, last, []);
  else Reflect.deleteProperty(parent, last);
}
