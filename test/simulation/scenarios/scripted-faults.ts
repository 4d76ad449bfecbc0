// Faults by script: only the scripted faults happen, and every message takes a millisecond.
import type { FaultKind, Faults, MessageFate, StoreCall, StoreFate, StoreWay } from "../faults.ts";
import type { Recorder } from "../recorder.ts";
import type { ServerProcess } from "../server-process.ts";

const WAY_MS = 1;

/** The fate of one message: it is lost, or takes so many milliseconds. */
export type MessageWay = "lost" | number;

export interface CallWay {
  readonly request?: MessageWay;
  readonly answer?: MessageWay;
}

/** About the next statements or transactions of one name, as their process calls them. */
export interface StoreScript {
  readonly name: string;
  /** Left out: whichever server comes first. */
  readonly at?: ServerProcess;
  readonly fate?: StoreFate;
  readonly toMs?: number;
  readonly backMs?: number;
  /** Default 1. */
  readonly times?: number;
}

export interface ScriptedFaults extends Faults {
  /** Makes one call as `caller`, a name of its own; its messages go this way. */
  along<T>(caller: string, way: CallWay, send: () => T): T;
  store(call: StoreCall): StoreWay;
  scriptStore(script: StoreScript): void;
  /** Names of scripted calls that were not made: the script did not test what it says. */
  unused(): readonly string[];
  /** How often a statement or transaction of this name was sent. */
  sent(name: string): number;
  loseNotifications(lose: boolean): void;
}

export function createScriptedFaults(recorder: Recorder): ScriptedFaults {
  const counts = new Map<FaultKind, number>();
  const answerWays = new Map<string, MessageWay>();
  const sent = new Map<string, number>();
  let scripts: { readonly script: StoreScript; left: number }[] = [];
  let requestWay: MessageWay = WAY_MS;
  let notificationsLost = false;

  function fateOf(way: MessageWay, to: string, isServer: boolean): MessageFate {
    const record = (did: "lost" | "delayed") =>
      recorder.fault({ kind: "network", did }, to, isServer);
    if (way === "lost") {
      record("lost");
      return { kind: "lost" };
    }
    if (way > WAY_MS) record("delayed");
    return { kind: "arrives", inMs: way, againInMs: null };
  }

  return Object.freeze({
    counts,
    calm: true,
    count(kind: FaultKind) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
    },
    strikes: (kind: FaultKind) => kind === "notification lost" && notificationsLost,
    along<T>(caller: string, way: CallWay, send: () => T): T {
      requestWay = way.request ?? WAY_MS;
      answerWays.set(caller, way.answer ?? WAY_MS);
      const sending = send();
      requestWay = WAY_MS;
      return sending;
    },
    message(to: string, isServer: boolean): MessageFate {
      const [name = to] = to.split("#");
      return fateOf(isServer ? requestWay : (answerWays.get(to) ?? WAY_MS), name, isServer);
    },
    store({ process, name }: StoreCall): StoreWay {
      sent.set(name, (sent.get(name) ?? 0) + 1);
      const found = scripts.find(
        ({ script }) => script.name === name && (script.at?.name ?? process) === process,
      );
      if (!found) return { fate: "fine", toMs: WAY_MS, backMs: WAY_MS };
      found.left -= 1;
      scripts = scripts.filter(({ left }) => left > 0);
      const { fate = "fine", toMs = WAY_MS, backMs = WAY_MS } = found.script;
      const isAfter = fate === "after-commit" || fate === "after-commit, found-out";
      if (fate !== "fine") {
        const did = isAfter ? "after-commit" : "before-commit";
        recorder.fault({ kind: "store", did }, "store", false);
      }
      return { fate, toMs, backMs };
    },
    scriptStore(script: StoreScript) {
      scripts.push({ script, left: script.times ?? 1 });
    },
    unused: () => scripts.map(({ script }) => script.name),
    sent: (name: string) => sent.get(name) ?? 0,
    loseNotifications(lose: boolean) {
      notificationsLost = lose;
    },
    failsAlways: () => false,
    cannotBeMade: () => false,
    heal: () => undefined,
  } satisfies ScriptedFaults);
}
