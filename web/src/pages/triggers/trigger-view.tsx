// One trigger: its event, its action with its templates, and what it has refused.

import { equals } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import type { Trigger } from "@drover/proto/drover/v1/trigger_pb.ts";
import { Link } from "wouter";
import { operator } from "../../calls/clients.ts";
import { useCall } from "../../calls/use-call.ts";
import { CommandNote } from "../../parts/command-note.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Shown } from "../../parts/states.tsx";
import { Ago } from "../../parts/time.tsx";
import { useNamespace } from "../../shell/namespace.tsx";
import { actionWords, eventWords, templatesOf } from "../../words/trigger-words.ts";
import { REFUSALS_MAX, RefusalPanel } from "./refusal-panel.tsx";

const EVERY_MS = 5_000;

export function TriggerView({ name }: { readonly name: string }) {
  const namespace = useNamespace();
  const seen = useCall(
    `trigger ${namespace} ${name}`,
    async (signal) => {
      const asked = { namespace, trigger: name, pageSize: REFUSALS_MAX };
      const [{ trigger }, { refusals }] = await Promise.all([
        operator.getTrigger({ namespace, name }, { signal }),
        operator.listRefusals(asked, { signal }),
      ]);
      return { trigger, refusals };
    },
    { everyMs: EVERY_MS },
  );
  return (
    <Shown of={seen} what="the trigger" wholePage>
      {({ trigger, refusals }) => (
        <>
          <PageHead title={name} above={<Link href="/triggers">Triggers</Link>} />
          {trigger === undefined ? null : <Settings of={trigger} />}
          <RefusalPanel of={refusals} ofOne />
          <CommandNote does="Show what it would do" command={`drover trigger try ${name}`} />
          <CommandNote does="Change it" command="drover trigger put FILE" />
        </>
      )}
    </Shown>
  );
}

function Settings({ of }: { readonly of: Trigger }) {
  const { definition, path, secretDigest, createdTime, changedTime } = of;
  if (definition === undefined) return null;
  const isChanged =
    createdTime && changedTime && !equals(TimestampSchema, createdTime, changedTime);
  return (
    <Panel title="Settings">
      <Facts
        of={[
          ["Event", eventWords(definition)],
          ["Address", path === "" ? null : <code key="path">POST {path}</code>],
          ["Secret", secretDigest === "" ? null : `SHA-256 ${secretDigest.slice(0, DIGEST)}…`],
          ["Condition", definition.when],
          ["Action", actionWords(definition)],
          ...templatesOf(definition),
          ["Created", <Ago key="created" at={createdTime} />],
          ["Changed", isChanged ? <Ago key="changed" at={changedTime} /> : null],
        ]}
      />
    </Panel>
  );
}

/** As many characters as the command line shows. */
const DIGEST = 12;
