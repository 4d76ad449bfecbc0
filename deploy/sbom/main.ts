// `npm run sbom [-- FILE]`: the bill of materials of a running Drover, in CycloneDX JSON. npm
// writes it for all packages of the lock; those that only build and test Drover are left out here.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { lockedPackages } from "./locked-packages.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const BYTES_MAX = 64 * 1024 * 1024;

interface Component {
  readonly "bom-ref": string;
  readonly [key: string]: unknown;
}
interface Bom {
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly metadata: { readonly component: Component };
}

function npmBom(): Bom {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "application"];
  const text = execFileSync("npm", [...args, "--package-lock-only"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: BYTES_MAX,
  });
  const bom: Bom = JSON.parse(text);
  return bom;
}

/** Drover's own packages are parts of it. */
function productBom(bom: Bom): Bom {
  const used = new Set(
    lockedPackages().flatMap(({ name, version, use }) =>
      use === "production" ? [`${name}@${version}`] : [],
    ),
  );
  const isUsed = (ref: string) =>
    used.has(ref) ||
    /^@drover\/(?!examples@)/.test(ref) ||
    ref === bom.metadata.component["bom-ref"];
  return {
    ...bom,
    metadata: { ...bom.metadata, component: { ...bom.metadata.component, name: "drover" } },
    components: bom.components.filter((component) => isUsed(component["bom-ref"])),
    dependencies: bom.dependencies
      .filter(({ ref }) => isUsed(ref))
      .map((one) => ({ ...one, dependsOn: one.dependsOn.filter(isUsed) })),
  };
}

const text = `${JSON.stringify(productBom(npmBom()), null, 2)}\n`;
const [file] = process.argv.slice(2);
if (file === undefined) process.stdout.write(text);
else writeFileSync(file, text);
