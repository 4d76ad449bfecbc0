/**
 * The contract with its comments: the descriptors of proto/drover as buf builds them, source
 * information included, in the order of their files.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { createFileRegistry, type DescFile, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const root = join(import.meta.dirname, "..");
const IMAGE_BYTES_MAX = 64 * 1024 * 1024;

/** The files of `drover.v1`, sorted by name. */
export function contractFiles(): readonly DescFile[] {
  const buf = join(root, "node_modules/.bin/buf");
  const image = execFileSync(buf, ["build", "-o", "-"], { cwd: root, maxBuffer: IMAGE_BYTES_MAX });
  const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
  return [...registry.files]
    .filter(({ proto }) => proto.package === "drover.v1")
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
