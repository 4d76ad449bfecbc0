// The shapes of the events in a scenario file: what people do to a run, and faults of servers and
// agents.
import { choice, oneOf } from "./choice-shape.ts";
import { optional, required } from "./record-shape.ts";
import type { ScenarioEvent, ScriptedAction } from "./scenario.ts";
import { anything, list, matching, text, time, word } from "./shape.ts";

const NAME = matching("a name", /^[A-Za-z0-9._-]{1,128}$/, "travel");
export const STATE = matching(
  "a step and its state, or the run's",
  /^\S+ [A-Z_]+$/,
  "hotel FAILED",
);

const by = optional(text, "the name of the person; any by default", null);
const decision = (approve: boolean) =>
  choice(
    approve ? "a person approves the approval step" : "a person rejects the approval step",
    {
      step: required(NAME, "the step"),
      by,
      roles: optional(
        list(text),
        "the roles of the person; by default those that the step requires",
        null,
      ),
      comment: optional(text, "why", ""),
      form: optional(anything, "what was filled in", null),
    },
    (given): ScriptedAction => ({
      kind: "decide",
      approve,
      step: given.step,
      by: given.by,
      roles: given.roles,
      comment: given.comment,
      form: given.form,
    }),
    "step",
  );

const ANSWERS = ["retry", "retry-changed", "succeed", "skip", "compensate", "fail", "acknowledge"];
const QUEUE_OR_RUN = matching(
  "`run`, or `queue` and its name",
  /^(?:run|queue [A-Za-z0-9._-]{1,128})$/,
  "queue travel",
);
const paused = (kind: "pause" | "resume") =>
  choice(
    `a person ${kind}s the run, or a queue`,
    { what: required(QUEUE_OR_RUN, "which") },
    ({ what }): ScriptedAction => ({
      kind,
      queue: what === "run" ? null : what.replace(/^queue /, ""),
    }),
    "what",
  );
const staffed = (kind: "leave" | "return", about: string) =>
  choice(
    about,
    { queue: required(NAME, "the queue") },
    ({ queue }): ScriptedAction => ({ kind, queue }),
    "queue",
  );

export const EVENT = oneOf(
  "an event",
  {
    signal: choice(
      "the outside world sends the run a signal",
      { name: required(NAME, "its name"), payload: optional(anything, "what it carries", null) },
      ({ name, payload }): ScriptedAction => ({ kind: "signal", name, payload }),
      "name",
    ),
    approve: decision(true),
    reject: decision(false),
    answer: choice(
      "a person answers an escalation that is open",
      {
        answer: required(word(ANSWERS), "what"),
        step: optional(text, "about which step; any by default", null),
        payload: optional(
          anything,
          "of `succeed`: the output; of `retry-changed`: the input",
          null,
        ),
        by,
      },
      (given): ScriptedAction => ({ kind: "answer", ...given }),
      "answer",
    ),
    cancel: choice(
      "a person cancels the run",
      {
        undo: optional(
          word(["compensate", "leave"]),
          "whether it is undone; `compensate`",
          "compensate",
        ),
      },
      ({ undo }): ScriptedAction => ({ kind: "cancel", undo: undo === "compensate" }),
      "undo",
    ),
    pause: paused("pause"),
    resume: paused("resume"),
    agents_leave: staffed(
      "leave",
      "all agents of a queue are gone; the tasks that they hold go on",
    ),
    agents_return: staffed("return", "they are back"),
    kill_server: choice(
      "the server is killed, and comes back",
      { for: optional(time, "how much later; 10s by default", 10_000) },
      ({ for: forMs }): ScriptedAction => ({ kind: "kill", forMs }),
      "for",
    ),
  },
  {
    at: optional(time, "when, from the start of the run", null),
    when: optional(STATE, "when something comes to a state for the first time", null),
    after: optional(time, "with `when`: so much later", 0),
  },
  (action: ScriptedAction, { at, when, after }, path): ScenarioEvent => ({
    on: when === null ? { kind: "at", ms: at ?? 0 } : { kind: "when", state: when, afterMs: after },
    action,
    path,
  }),
);
