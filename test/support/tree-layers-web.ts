// Who may import whom in the dashboard: rows of the table in tree-layers.ts.
import type { Layer } from "./tree-layers.ts";

export const webLayers: readonly Layer[] = [
  {
    of: ["web/vite.config.ts"],
    may: ["vite", "@vitejs/plugin-react", "web/src/routes.ts"],
    node: true,
    instead: "the build knows the addresses of the pages and nothing else of them",
  },
  {
    of: ["web/src/"],
    may: [
      "proto/gen/ts/",
      "@bufbuild/protobuf",
      "@connectrpc/connect",
      "@connectrpc/connect-web",
      "@dagrejs/dagre",
      "@tanstack/react-virtual",
      "@xyflow/react",
      "diff",
      "oauth4webapi",
      "react",
      "react-dom",
      "uplot",
      "wouter",
    ],
    node: false,
    instead: "the dashboard runs in a browser and knows the contract alone",
  },
];
