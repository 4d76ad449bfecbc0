// Finds workflows that `run` steps name and that are not registered. Registered names are never
// removed, so a workflow that is found here is also found when the child run begins. A definition
// that is sent with Schedule is not checked: its step fails when it begins, with
// drover.child-refused.
import type { Definition, StepDefinition } from "../../core/definition/definition.ts";
import type { DefinitionProblem } from "../../core/definition/definition-check.ts";
import type { AllShards } from "../../store/all-shards.ts";
import type { Namespace } from "../../store/store.ts";

interface Named {
  readonly path: string;
  readonly id: string;
  readonly workflow: string;
  /** 0: the default version. */
  readonly version: number;
}

/**
 * A step that runs its own workflow without a version is allowed: that workflow is about to be
 * registered.
 */
export async function missingWorkflows(
  store: Pick<AllShards, "workflowVersion">,
  namespace: Namespace,
  definition: Definition,
): Promise<readonly DefinitionProblem[]> {
  const named = definition.steps.flatMap(namedBy);
  const others = named.filter(
    ({ workflow, version }) => workflow !== definition.workflow || version > 0,
  );
  const found = await Promise.all(
    others.map(({ workflow, version }) => store.workflowVersion(namespace.id, workflow, version)),
  );
  return others.flatMap(({ path, id, workflow, version }, at) => {
    if (found[at]) return [];
    const which = version === 0 ? "" : ` version ${version}`;
    const message = `step "${id}" runs the workflow "${workflow}"${which}, which is not registered: register it first`;
    return [{ path, message }];
  });
}

function namedBy(step: StepDefinition, no: number): readonly Named[] {
  if (step.kind !== "run") return [];
  const { id, workflow, version = 0, fallback = [] } = step;
  const at = `steps[${no}]`;
  return [
    { path: `${at}.run.workflow`, id, workflow, version },
    ...fallback.flatMap((way, index) =>
      way.workflow === undefined
        ? []
        : [
            {
              path: `${at}.fallback[${index}].run.workflow`,
              id,
              workflow: way.workflow,
              version: way.version ?? 0,
            },
          ],
    ),
  ];
}
