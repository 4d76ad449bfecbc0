/** `drover status --all-namespaces`: what needs attention, and the runs of each namespace. */
import { toJson } from "@bufbuild/protobuf";
import {
  type GetOverviewResponse,
  GetOverviewResponseSchema,
} from "@drover/proto/drover/v1/overview_pb.ts";
import { latelyWords, openRunsWords } from "../activity-words.ts";
import { inAllNamespaces } from "../all-namespaces.ts";
import type { Connection } from "../client.ts";
import type { Context } from "../context.ts";
import { printTable } from "../table.ts";
import { clean } from "../words.ts";
import { concernHeaders, concerns } from "./status.ts";

export async function showAllStatus(
  connection: Connection,
  { output, againIn }: Context,
): Promise<void> {
  const all = await inAllNamespaces(connection, ({ operator, namespace }) =>
    operator.getOverview({ namespace }),
  );
  if (output.format === "jsonl") for (const one of all) output.value(documentOf(one));
  else output.value({ namespaces: all.map(documentOf) });
  if (output.format !== "table") return;
  const rows = all.flatMap(({ namespace, found }) =>
    concerns(found, againIn(namespace), output.when).map((row) => [clean(namespace), ...row]),
  );
  printTable(output, ["NAMESPACE", ...concernHeaders], rows, [concernHeaders[0]]);
  if (rows.length > 0) output.line("");
  printTable(
    output,
    ["NAMESPACE", "OPEN RUNS", "LAST 30 MINUTES"],
    all.map(({ namespace, found: { activity } }) => [
      clean(namespace),
      activity ? openRunsWords(activity) : "",
      activity ? latelyWords(activity) : "",
    ]),
  );
  if (rows.length === 0) output.note("nothing needs attention in any namespace");
}

function documentOf({
  namespace,
  found,
}: {
  readonly namespace: string;
  readonly found: GetOverviewResponse;
}) {
  return { namespace, overview: toJson(GetOverviewResponseSchema, found) };
}
