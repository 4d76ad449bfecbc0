// The pages of the dashboard: their addresses below a namespace, their names, and the letter that
// goes there after `g`. The build hands the addresses to the server; the shell makes of them the
// navigation.

export type PageId =
  | "overview"
  | "runs"
  | "run"
  | "workflows"
  | "queues"
  | "supervisors"
  | "escalations"
  | "schedules"
  | "audit";

export interface Route {
  readonly id: PageId;
  /** As wouter reads it; what follows below it belongs to the page. */
  readonly path: string;
  readonly title: string;
  /** null: it has no place in the navigation. */
  readonly letter: string | null;
}

export const routes: readonly Route[] = [
  { id: "overview", path: "/", title: "Overview", letter: "o" },
  { id: "runs", path: "/runs", title: "Runs", letter: "r" },
  { id: "run", path: "/runs/:run/*?", title: "Run", letter: null },
  { id: "workflows", path: "/workflows/*?", title: "Workflows", letter: "w" },
  { id: "queues", path: "/queues/*?", title: "Queues and agents", letter: "q" },
  { id: "supervisors", path: "/supervisors/*?", title: "Supervisors", letter: "s" },
  { id: "escalations", path: "/escalations/*?", title: "Escalations", letter: "e" },
  { id: "schedules", path: "/schedules/*?", title: "Schedules", letter: "c" },
  { id: "audit", path: "/audit/*?", title: "Audit", letter: "a" },
];

/** Where a page begins: its path without what only matches. */
export function addressOf(route: Route): string {
  return route.path.replace(/\/[:*].*$/, "") || "/";
}
