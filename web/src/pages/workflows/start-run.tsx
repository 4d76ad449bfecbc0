// Starts a run of a workflow: its input by the input schema of the version, key and labels.
import type { Workflow } from "@drover/proto/drover/v1/workflow_pb.ts";
import { useLocation } from "wouter";
import { scheduler } from "../../calls/clients.ts";
import { Act, written } from "../../parts/act.tsx";
import { Field } from "../../parts/field.tsx";
import { SchemaFields, schemaJson } from "../../parts/schema-fields.tsx";
import { useNamespace } from "../../shell/namespace.tsx";

const KEY_MAX = 256;

export function StartRun({ workflow }: { readonly workflow: Workflow }) {
  const { name, version, defaultVersion, definition, pause } = workflow;
  const namespace = useNamespace();
  const [, go] = useLocation();
  const schema = definition?.inputSchema?.body;
  return (
    <Act
      name="Start a run"
      title={`Start a run of ${name} v${version}?`}
      act="Start"
      variant="main"
      paths={["input", "key", "labels"]}
      onAct={async (form) => {
        const json = schemaJson(form);
        const { runId } = await scheduler.schedule({
          namespace,
          target: { case: "workflow", value: { name, version } },
          key: written(form, "key"),
          labels: labelsOf(written(form, "labels")),
          ...(json === "" ? {} : { input: { body: { case: "json" as const, value: json } } }),
        });
        go(`/runs/${runId}`);
        return "The run is started.";
      }}
    >
      {version === defaultVersion ? null : (
        <p>
          v{version} is not the default version, which is v{defaultVersion}.
        </p>
      )}
      {pause ? <p>The workflow is paused: the run waits until it is resumed.</p> : null}
      {schema?.case === "json" ? (
        <SchemaFields schema={schema.value} path="input" whole="Input, as JSON" />
      ) : (
        <Field name="Input, as JSON" path="input" help="Empty: no input.">
          <textarea name="schema-json" rows={4} />
        </Field>
      )}
      <Field name="Key" path="key" help="A name of your own; the same key starts no second run.">
        <input name="key" maxLength={KEY_MAX} autoComplete="off" />
      </Field>
      <Field name="Labels" path="labels" help="As customer=acme, one in a line.">
        <textarea name="labels" rows={2} />
      </Field>
    </Act>
  );
}

function labelsOf(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`"${line}" is not a label: write name=value`);
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
