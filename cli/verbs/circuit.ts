/**
 * `drover queue circuit list`, `open`, `close`, `release`: circuit breakers of lanes and agents.
 */
import {
  type Circuit,
  CircuitSchema,
  CircuitSetting,
  CircuitState,
  ListCircuitsResponseSchema,
  SetCircuitResponseSchema,
} from "@drover/proto/drover/v1/circuit_pb.ts";
import type { Command } from "commander";
import {
  addChangeOptions,
  type ByOptions,
  personOf,
  type ReasonOptions,
} from "../change-options.ts";
import { contextOf, wholeNumber } from "../context.ts";
import { type Ended, exitCodes } from "../failure.ts";
import { addList, documentOf } from "../list-verb.ts";
import { limitMax, readPages } from "../lists.ts";
import type { Output } from "../output.ts";
import { clean, timeWords } from "../words.ts";

interface SettingVerb {
  readonly verb: "open" | "close" | "release";
  readonly setting: CircuitSetting;
  readonly help: string;
}

const SETTING_VERBS: readonly SettingVerb[] = [
  {
    verb: "open",
    setting: CircuitSetting.OPEN,
    help: "open a circuit by hand: its tasks are not handed out until it is released",
  },
  {
    verb: "close",
    setting: CircuitSetting.CLOSED,
    help: "close a circuit by hand: its tasks are handed out, even if all fail, until it is released",
  },
  {
    verb: "release",
    setting: CircuitSetting.UNSPECIFIED,
    help: "remove the manual setting of a circuit: the supervisor decides again",
  },
];

export function addCircuitVerbs(queue: Command, ended: Ended): void {
  const circuit = queue
    .command("circuit")
    .description("list circuits and whether they are open; open or close one by hand");
  addCircuitList(circuit, ended);
  for (const one of SETTING_VERBS) addSettingVerb(circuit, ended, one);
}

interface SettingOptions extends ByOptions, ReasonOptions {
  readonly agent: string;
}

function addSettingVerb(circuit: Command, ended: Ended, { verb, setting, help }: SettingVerb) {
  addChangeOptions(circuit.command(verb), { by: true, reason: "optional" })
    .description(help)
    .argument("<queue>", "name of the queue")
    .argument("<task>", "name of the task")
    .option("--agent <id>", "of one agent alone", "")
    .action(async (name: string, task: string, options: SettingOptions, command: Command) => {
      const { agent: agentId, reason: why } = options;
      const by = personOf(options, command);
      const { output, connect } = contextOf(command);
      const { operator, namespace } = connect();
      const request = { namespace, queue: name, task, agentId, setting, by, why };
      const answer = await operator.setCircuit(request);
      output.data(SetCircuitResponseSchema, answer);
      tell(answer.circuit, output);
      const next = ["drover queue circuit release", clean(name), clean(task)];
      const whose = agentId === "" ? [] : [`--agent ${clean(agentId)}`];
      if (verb !== "release") output.next([...next, ...whose].join(" "));
      ended(exitCodes.done);
    });
}

function tell(circuit: Circuit | undefined, output: Output): void {
  if (output.format !== "table" || !circuit) return;
  const { queue, task, agentId } = circuit;
  const whose = agentId === "" ? "" : ` of agent ${clean(agentId)}`;
  output.line(
    `circuit of task ${clean(task)} in queue ${clean(queue)}${whose} ${stateWords(circuit)}`,
  );
}

/** A person's setting takes precedence over the state. */
export function isClosed({ setting, state }: Circuit): boolean {
  if (setting !== CircuitSetting.UNSPECIFIED) return setting === CircuitSetting.CLOSED;
  return state === CircuitState.CLOSED;
}

/** is open, one task probes the service from 2026-01-31 12:00:05Z */
export function stateWords(circuit: Circuit): string {
  const { setting, setBy, why, state } = circuit;
  if (setting !== CircuitSetting.UNSPECIFIED) {
    const is = setting === CircuitSetting.OPEN ? "is open" : "is closed";
    const because = why === "" ? "" : `: ${clean(why)}`;
    return `${is}, set by ${clean(setBy)} at ${timeWords(circuit.setTime)}${because}`;
  }
  if (state === CircuitState.TRYING) return "is open, and one task probes the service";
  if (state === CircuitState.OPEN)
    return `is open, one task probes the service from ${timeWords(circuit.tryTime)}`;
  return "is closed";
}

function addCircuitList(circuit: Command, ended: Ended): void {
  const verb = circuit
    .command("list")
    .description("list the circuits that are open, or that a person has set")
    .option("--limit <n>", "most circuits to list", wholeNumber(1, limitMax), 1_000);
  addList(verb, ended, {
    headers: ["QUEUE", "TASK", "AGENT", "CIRCUIT", "SEEN"],
    read: ({ operator, namespace }, { limit }: { readonly limit: number }) =>
      readPages<Circuit>(limit, async (page) => {
        const answer = await operator.listCircuits({ namespace, ...page });
        return { items: answer.circuits, nextPageToken: answer.nextPageToken };
      }),
    item: CircuitSchema,
    document: ({ items: circuits, nextPageToken }) =>
      documentOf(ListCircuitsResponseSchema, { circuits, nextPageToken }),
    row: (one) => [
      clean(one.queue),
      `${clean(one.task)}${one.agentVersion === "" ? "" : ` for version ${clean(one.agentVersion)}`}`,
      clean(one.agentId),
      stateWords(one).replace(/^is /, ""),
      clean(one.saw),
    ],
    none: "every circuit is closed",
  });
}
