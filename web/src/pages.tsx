// The component of each page. Each is in a file of its own, which is loaded when the page is
// opened. A page without a row here is not in the navigation either.
import { type ComponentType, lazy } from "react";
import type { PageId } from "./routes.ts";

export const pages: Readonly<Partial<Record<PageId, ComponentType>>> = {
  overview: lazy(async () => ({
    default: (await import("./pages/overview/overview-page.tsx")).OverviewPage,
  })),
  runs: lazy(async () => ({ default: (await import("./pages/runs/runs-page.tsx")).RunsPage })),
  run: lazy(async () => ({ default: (await import("./pages/run/run-page.tsx")).RunPage })),
  workflows: lazy(async () => ({
    default: (await import("./pages/workflows/workflows-page.tsx")).WorkflowsPage,
  })),
  queues: lazy(async () => ({
    default: (await import("./pages/queues/queues-page.tsx")).QueuesPage,
  })),
  supervisors: lazy(async () => ({
    default: (await import("./pages/supervisors/supervisors-page.tsx")).SupervisorsPage,
  })),
  approvals: lazy(async () => ({
    default: (await import("./pages/approvals/approvals-page.tsx")).ApprovalsPage,
  })),
  escalations: lazy(async () => ({
    default: (await import("./pages/escalations/escalations-page.tsx")).EscalationsPage,
  })),
  schedules: lazy(async () => ({
    default: (await import("./pages/schedules/schedules-page.tsx")).SchedulesPage,
  })),
  triggers: lazy(async () => ({
    default: (await import("./pages/triggers/triggers-page.tsx")).TriggersPage,
  })),
  hooks: lazy(async () => ({ default: (await import("./pages/hooks/hooks-page.tsx")).HooksPage })),
  namespaces: lazy(async () => ({
    default: (await import("./pages/namespaces/namespaces-page.tsx")).NamespacesPage,
  })),
  interventions: lazy(async () => ({
    default: (await import("./pages/interventions/interventions-page.tsx")).InterventionsPage,
  })),
  audit: lazy(async () => ({ default: (await import("./pages/audit/audit-page.tsx")).AuditPage })),
};
