// The pages of the dashboard: their addresses below a namespace, their titles, and the key that
// opens them after `g`. The build passes the addresses to the server; the shell makes the
// navigation from them.

export type PageId =
  | "overview"
  | "runs"
  | "run"
  | "workflows"
  | "queues"
  | "supervisors"
  | "approvals"
  | "escalations"
  | "schedules"
  | "triggers"
  | "hooks"
  | "namespaces"
  | "interventions"
  | "audit";

export interface Route {
  readonly id: PageId;
  /** In the syntax of wouter; the page itself handles what is below it. */
  readonly path: string;
  readonly title: string;
  /** null: it is not in the navigation. */
  readonly letter: string | null;
}

export const routes: readonly Route[] = [
  { id: "overview", path: "/", title: "Overview", letter: "o" },
  { id: "runs", path: "/runs", title: "Runs", letter: "r" },
  { id: "run", path: "/runs/:run/*?", title: "Run", letter: null },
  { id: "workflows", path: "/workflows/*?", title: "Workflows", letter: "w" },
  { id: "queues", path: "/queues/*?", title: "Queues and agents", letter: "q" },
  { id: "supervisors", path: "/supervisors/*?", title: "Supervisors", letter: "s" },
  { id: "approvals", path: "/approvals", title: "Approvals", letter: "p" },
  { id: "escalations", path: "/escalations/*?", title: "Escalations", letter: "e" },
  { id: "schedules", path: "/schedules/*?", title: "Schedules", letter: "c" },
  { id: "triggers", path: "/triggers/*?", title: "Triggers", letter: "t" },
  { id: "hooks", path: "/hooks", title: "Hooks", letter: "h" },
  { id: "interventions", path: "/interventions/*?", title: "Interventions", letter: "i" },
  { id: "audit", path: "/audit/*?", title: "Audit", letter: "a" },
  { id: "namespaces", path: "/namespaces", title: "Namespaces", letter: "n" },
];

/** Where the identity provider leads back to. */
export const SIGN_IN_PATH = "/sign-in";

/** The address of a page: its path without the parts that are patterns. */
export function addressOf(route: Route): string {
  return route.path.replace(/\/[:*].*$/, "") || "/";
}
