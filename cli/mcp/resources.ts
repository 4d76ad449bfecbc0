/**
 * Resources: a run, and the definition of a workflow, as a client may attach them to a
 * conversation. Each is the JSON that a tool would answer, and is offered beside that tool alone.
 */
import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { type Answer, bounded } from "./answer.ts";
import { runData } from "./read-tools.ts";
import type { Surroundings } from "./tool.ts";

const mimeType = "application/json";
const listedMax = 100;

export function addRunResource(server: McpServer, { client }: Surroundings): void {
  server.registerResource(
    "run",
    new ResourceTemplate("drover://runs/{run}", { list: undefined }),
    { title: "A run", description: "A run by its id, as show_run shows it", mimeType },
    async ({ href }, { run }, { mcpReq: { signal } }) => {
      const data = await runData(decoded(run), "", { client: client(), signal });
      return contents(href, { drover: "This is the run as it is now.", data });
    },
  );
}

export function addWorkflowResource(server: McpServer, { client }: Surroundings): void {
  server.registerResource(
    "workflow",
    new ResourceTemplate("drover://workflows/{name}", {
      async list({ mcpReq: { signal } }) {
        const { workflows } = await client().listWorkflows({ pageSize: listedMax, signal });
        const resources = workflows.map(({ name }) => {
          return { uri: `drover://workflows/${encodeURIComponent(name)}`, name, mimeType };
        });
        return { resources };
      },
    }),
    { title: "A workflow", description: "The default version of a workflow, in YAML", mimeType },
    async ({ href }, { name }, { mcpReq: { signal } }) => {
      const found = await client().getWorkflow(decoded(name), { signal });
      const data = {
        name: found.name,
        version: found.defaultVersion,
        definition: found.definitionText,
      };
      return contents(href, { drover: "This is the default version of the workflow.", data });
    },
  );
}

function contents(uri: string, answer: Answer) {
  return { contents: [{ uri, mimeType, text: JSON.stringify(bounded(answer)) }] };
}

function decoded(variable: string | readonly string[] | undefined): string {
  return decodeURIComponent(typeof variable === "string" ? variable : "");
}
