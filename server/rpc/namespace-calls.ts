// Namespaces made and listed, with their regions.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { OperatorService } from "@drover/proto/drover/v1/operator_service_pb.ts";
import { DroverError } from "../errors.ts";
import { PARTITIONS_PER_REGION } from "../store/partition.ts";
import type { NamespaceRecord, RegionRecord } from "../store/reads.ts";
import type { Store } from "../store/store.ts";
import { refusal } from "./errors.ts";
import type { Handlers } from "./mount.ts";
import { parsePageToken } from "./page-token.ts";
import { pageOf } from "./run-list.ts";

export interface NamespaceCallDeps {
  readonly store: Pick<Store, "reads" | "namespace" | "createNamespace">;
}

const DEFAULT_REGION = "default";
const LIST = "namespaces";

export function createNamespaceCalls({
  store,
}: NamespaceCallDeps): Pick<
  Handlers<typeof OperatorService>,
  "createNamespace" | "listNamespaces"
> {
  return {
    async createNamespace({ name, region: wanted }) {
      const region = wanted === "" ? DEFAULT_REGION : wanted;
      const existed = (await store.namespace(name)) !== null;
      await store.createNamespace(name, region).catch((error: unknown) => {
        if (!(error instanceof RangeError)) throw error;
        const message = `is the 129th: ${error.message}; name one of them`;
        throw refusal("INVALID_REQUEST", [{ path: "region", message }]);
      });
      const [made] = await namespacesFrom(name);
      if (!made) throw new Error(`namespace ${name} was made and is not there`);
      if (made.region === region) return { namespace: namespaceMessage(made), existed };
      throw new DroverError(
        "NAMESPACE_EXISTS",
        `The namespace "${name}" is in the region "${made.region}", where it stays.`,
        { metadata: { name, region: made.region } },
      );
    },
    async listNamespaces({ pageSize, pageToken }) {
      const page = pageOf(LIST, pageSize);
      const after = parsePageToken(LIST, pageToken, (name) => name !== "");
      const rows = await store.reads.listNamespaces({ names: null, after }, page.limit + 1);
      return {
        namespaces: rows.slice(0, page.limit).map(namespaceMessage),
        nextPageToken: page.nextToken(rows, ({ name }) => name),
        regions: (await store.reads.listRegions()).map(regionMessage),
      };
    },
  };

  function namespacesFrom(name: string): Promise<readonly NamespaceRecord[]> {
    return store.reads.listNamespaces({ names: [name], after: null }, 1);
  }
}

function namespaceMessage({ name, region, createdAt }: NamespaceRecord) {
  return { name, region, createTime: timestampFromMs(createdAt) };
}

function regionMessage({ name, watched }: RegionRecord) {
  return { name, watchedPartitions: watched, partitions: PARTITIONS_PER_REGION };
}
