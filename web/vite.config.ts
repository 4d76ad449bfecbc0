// How the dashboard is built: files with their hash in the name, and a list of the addresses that
// belong to the dashboard, which the server answers with index.html.
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { routes, SIGN_IN_PATH } from "./src/routes.ts";

const server = process.env.DROVER_ADDRESS ?? "127.0.0.1:7420";

function routeList(): Plugin {
  return {
    name: "drover-routes",
    generateBundle() {
      const source = `${JSON.stringify([...routes.map(({ path }) => path), SIGN_IN_PATH])}\n`;
      this.emitFile({ type: "asset", fileName: "routes.json", source });
    },
  };
}

export default defineConfig({
  plugins: [react(), routeList()],
  // What is drawn inline is a style or a script of the page, which its policy forbids.
  build: { assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 700 },
  worker: { format: "es" },
  server: { proxy: { "/drover.v1.": `http://${server}` } },
});
