// The definition of a version as YAML, to copy, or as the difference from another version.
import type { Workflow, WorkflowVersion } from "@drover/proto/drover/v1/workflow_pb.ts";
import { type ChangeObject, diffLines } from "diff";
import { useState } from "react";
import { scheduler } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { CopyButton } from "../../parts/copy-button.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { visibleText } from "../../words/foreign-words.ts";

const NONE = 0;

export function DefinitionPanel(props: {
  readonly workflow: Workflow;
  readonly text: string;
  readonly versions: readonly WorkflowVersion[];
}) {
  const { workflow, text, versions } = props;
  const [other, setOther] = useState(NONE);
  const others = versions.filter(({ version }) => version !== workflow.version);
  return (
    <Panel
      title="Definition"
      beside={
        <span className="acts">
          {others.length === 0 ? null : (
            <select
              aria-label="Compare with"
              value={other}
              onChange={({ target }) => setOther(Number(target.value))}
            >
              <option value={NONE}>Compare with…</option>
              {others.map(({ version }) => (
                <option key={version} value={version}>
                  Changes from v{version}
                </option>
              ))}
            </select>
          )}
          <CopyButton text={text} what="the definition" />
        </span>
      }
    >
      {other === NONE || other === workflow.version ? (
        <pre className="definition">{visibleText(text)}</pre>
      ) : (
        <Difference name={workflow.name} from={other} text={text} />
      )}
    </Panel>
  );
}

function Difference(props: {
  readonly name: string;
  readonly from: number;
  readonly text: string;
}) {
  const { name, from, text } = props;
  const namespace = useNamespace();
  const before = useCall(`definition ${namespace} ${name} ${from}`, async (signal) => {
    const asked = { namespace, name, version: from, includeText: true };
    return (await scheduler.getWorkflow(asked, { signal })).definitionText;
  });
  return (
    <Shown of={before} what="the other version">
      {(old) => {
        if (old === text) return <p className="dim">The two versions have the same definition.</p>;
        return (
          <pre className="definition">
            {diffLines(old, text).map((change, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: changes have no other name.
              <Change key={at} of={change} />
            ))}
          </pre>
        );
      }}
    </Shown>
  );
}

function Change({ of: { value, added, removed } }: { readonly of: ChangeObject<string> }) {
  const sign = added ? "+ " : removed ? "- " : "  ";
  const lines = visibleText(value).replaceAll(/^(?=.|\n)/gm, sign);
  if (removed) return <del>{lines}</del>;
  return added ? <ins>{lines}</ins> : lines;
}
