// The chart of deploy/helm, rendered by helm: its manifests by kind, and what their pods run.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { DeploymentTools } from "./deployment-tools.ts";
import { KUBERNETES } from "./deployment-tools.ts";
import { treeRoot } from "./tree.ts";

export const chartFolder = join(treeRoot, "deploy/helm/drover");
export const RELEASE = "prod";

export type Labels = Readonly<Record<string, string>>;

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string; readonly scheme: string };
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly EnvVar[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly securityContext: object;
  readonly resources: { readonly requests: object; readonly limits: { readonly memory: string } };
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface Pod {
  readonly metadata: { readonly labels: Labels };
  readonly spec: {
    readonly serviceAccountName?: string;
    readonly automountServiceAccountToken: boolean;
    readonly enableServiceLinks: boolean;
    readonly securityContext: object;
    readonly terminationGracePeriodSeconds?: number;
    readonly topologySpreadConstraints?: readonly object[];
    readonly containers: readonly [Container];
    readonly volumes?: readonly {
      readonly name: string;
      readonly secret: { readonly secretName: string };
    }[];
  };
}

/** The fields that tests read; kubeconform has checked all of them. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Labels;
    readonly annotations?: Labels;
  };
  readonly data?: Labels;
  readonly automountServiceAccountToken?: boolean;
  readonly spec: {
    readonly replicas?: number;
    readonly template: Pod;
    readonly selector: Labels & { readonly matchLabels: Labels };
    readonly podSelector: { readonly matchLabels: Labels };
    readonly ports: readonly { readonly name: string; readonly targetPort: string }[];
    readonly endpoints: readonly {
      readonly port: string;
      readonly path: string;
      readonly scheme: string;
    }[];
    readonly ingress?: readonly { readonly ports: readonly { readonly port: string }[] }[];
    readonly jobLabel?: string;
  };
}

export interface Rendered {
  /** The text is also in this file. */
  readonly file: string;
  readonly all: readonly Manifest[];
  ofKind(kind: string): readonly Manifest[];
  /** Of Deployments and Jobs. */
  readonly pods: readonly { readonly name: string; readonly pod: Pod }[];
}

/** Throws what helm says if the values are refused. */
export async function render(
  { helm }: DeploymentTools,
  { values, sets = [], to }: RenderOptions,
): Promise<Rendered> {
  const given = [...(values === undefined ? [] : ["--values", values]), ...sets.flatMap(setFlag)];
  const about = ["--namespace", "work", "--kube-version", KUBERNETES[0]];
  const { code, stdout, stderr } = await helm([
    ...["template", RELEASE, chartFolder],
    ...about,
    ...given,
  ]);
  if (code !== 0) throw new Error(stderr);
  const file = join(to, "rendered.yaml");
  writeFileSync(file, stdout);
  const all = parseAllDocuments(stdout).map((document): Manifest => document.toJS());
  const ofKind = (kind: string) => all.filter((one) => one.kind === kind);
  const pods = [...ofKind("Deployment"), ...ofKind("Job")].map(({ metadata, spec }) => ({
    name: metadata.name.replace(`${RELEASE}-drover-`, "").replace("control-", ""),
    pod: spec.template,
  }));
  return { file, all, ofKind, pods };
}

interface RenderOptions {
  /** A file. */
  readonly values?: string;
  /** As `--set`. */
  readonly sets?: readonly string[];
  /** A folder. */
  readonly to: string;
}

function setFlag(set: string): readonly string[] {
  return ["--set", set];
}

/** The environment of a container; `secret` has what its Secrets contain. */
export function environmentOf(
  { ofKind }: Rendered,
  { env, envFrom = [] }: Container,
  secret: (name: string, key: string) => string,
): Readonly<Record<string, string>> {
  const maps = envFrom.map(({ configMapRef }) => {
    const found = ofKind("ConfigMap").find(({ metadata }) => metadata.name === configMapRef.name);
    if (!found?.data) throw new Error(`there is no ConfigMap ${configMapRef.name}`);
    return found.data;
  });
  const own = env.map(({ name, value, valueFrom }) => {
    const { secretKeyRef: key } = valueFrom ?? {};
    return [name, value ?? (key ? secret(key.name, key.key) : "")] as const;
  });
  return Object.assign({}, ...maps, Object.fromEntries(own));
}
