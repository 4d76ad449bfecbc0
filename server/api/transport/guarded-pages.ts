// Pages that show names of namespaces and workflows, such as /metrics. Where tokens are required, a
// page needs a token that may watch all namespaces.
import { DroverError } from "../../errors.ts";
import type { Identity } from "../auth/identity.ts";
import type { Pages } from "./pages.ts";

export function guarded(pages: Pages, identity: Identity | undefined): Pages {
  if (!identity) return pages;
  return Object.fromEntries(
    Object.entries(pages).map(([path, page]) => [
      path,
      async (headers) => {
        const header = (name: string) => headers[name]?.toString() ?? null;
        const refused = await identity.mayWatch({ header }).then(() => null, refusalOf);
        if (refused === null) return page(headers);
        const status = refused.reason === "NOT_ALLOWED" ? 403 : 401;
        return { status, contentType: "text/plain; charset=utf-8", body: `${refused.message}\n` };
      },
    ]),
  );
}

function refusalOf(error: unknown): DroverError {
  if (error instanceof DroverError) return error;
  throw error;
}
