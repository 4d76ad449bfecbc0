/**
 * A handler bound to the definition of its task: the compiler checks what it reads and returns, and
 * the schemas of the task check the values.
 *
 * - A wrong input is the permanent failure `bad-input`, which no retry repeats. A task that
 *   performs is not started with one; one that verifies or compensates fails when it reads it,
 *   since mostly the key of the effect is all that it needs.
 * - The work that returned a wrong output was done: it is reported as the permanent failure
 *   `drover.output`, and is undone if it can be.
 */
import { isMessage } from "@bufbuild/protobuf";
import { OutcomeSchema } from "@drover/proto/drover/v1/task_pb.ts";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Answer } from "./answers.ts";
import type { Handler, Read, Task, TaskContext } from "./handler.ts";
import { outputLost } from "./outcomes.ts";
import { type Parse, readPayload, toPayload } from "./payload.ts";
import { check, textOf } from "./schema.ts";
import type { TaskDefinition, TaskKind } from "./task-definition.ts";
import { PermanentError } from "./task-errors.ts";

/** What a handler may return: to verify is to answer, and an undone step has no output. */
export type HandlerResult<Out, Kind extends TaskKind> = Kind extends "perform"
  ? Out | Answer<Out>
  : Kind extends "verify"
    ? Answer<Out>
    : unknown;

/** Performs one attempt of a defined task; as Handler, with the types of the task. */
export type TypedHandler<Out, InRead, OutRead, Kind extends TaskKind> = (
  task: Task<InRead, OutRead>,
  context: TaskContext,
) => HandlerResult<Out, Kind> | Promise<HandlerResult<Out, Kind>>;

/** A handler and the task that it is for. */
export interface BoundHandler<In = unknown, Out = unknown> {
  readonly task: TaskDefinition<In, Out>;
  readonly handler: Handler;
}

/** Binds a handler to its task, for the list `handlers` of an agent. */
export function handle<In, Out, InRead, OutRead, Kind extends TaskKind>(
  task: TaskDefinition<In, Out, InRead, OutRead, Kind>,
  handler: TypedHandler<Out, InRead, OutRead, Kind>,
): BoundHandler<In, Out> {
  async function checked(raw: Task, context: TaskContext): Promise<unknown> {
    const input = await readAhead(task.input, raw.input, "input");
    if (task.kind === "perform") input();
    const output = await readAhead(optional(task.output), raw.output, "output");
    const typed = { ...raw, input: reader(raw.input, input), output: reader(raw.output, output) };
    const result = await handler(Object.freeze(typed), context);
    return task.kind === "compensate" ? result : checkedResult(task.output, result);
  }
  return Object.freeze({ task, handler: checked });
}

/** Checks a value now, so that a handler need not wait when it reads it. */
async function readAhead<T>(
  schema: StandardSchemaV1<unknown, T>,
  read: Read,
  what: "input" | "output",
): Promise<() => T> {
  const failing = (error: unknown) => () => {
    throw error;
  };
  try {
    const checked = await check(schema, read());
    if (checked.kind === "valid") return () => checked.value;
    const message = `The ${what} is not as expected: ${textOf(checked.problems)}`;
    return failing(new PermanentError(`bad-${what}`, message));
  } catch (error) {
    return failing(error);
  }
}

function reader<T>(raw: Read, value: () => T): Read<T> {
  function read(): T;
  function read<P>(parse: Parse<P>): P;
  function read<P>(parse?: Parse<P>): T | P {
    return parse === undefined ? value() : raw(parse);
  }
  return read;
}

/** Of a step that was not done, and of tasks that perform, there is no output. */
function optional<T>(
  schema: StandardSchemaV1<unknown, T>,
): StandardSchemaV1<unknown, T | undefined> {
  const { validate, ...rest } = schema["~standard"];
  return {
    "~standard": {
      ...rest,
      validate: (value) => (value === undefined ? { value } : validate(value)),
    },
  };
}

/** What has no JSON form is left to the agent, as every other result that it cannot send. */
async function checkedResult(schema: StandardSchemaV1, result: unknown): Promise<unknown> {
  const output = sent(result);
  if (output === null) return result;
  const checked = await check(schema, output.value);
  if (checked.kind === "valid") return result;
  return outputLost(`The output is not as expected: ${textOf(checked.problems)}`);
}

/** The output as its reader gets it; null: there is none to check. */
function sent(result: unknown): { readonly value: unknown } | null {
  if (isMessage(result, OutcomeSchema))
    return result.kind.case === "success" ? { value: readPayload(result.kind.value.output) } : null;
  try {
    return { value: readPayload(toPayload(result)) };
  } catch {
    return null;
  }
}
