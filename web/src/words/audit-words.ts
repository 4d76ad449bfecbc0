// What people did, in words: each action of the audit as a verb with its object.

/** As `drover audit list --action` takes them. The subject follows. */
export const auditActions: Readonly<Record<string, string>> = {
  "agent.cordon": "cordoned agent",
  "agent.uncordon": "uncordoned agent",
  "bulk.start": "started bulk action",
  "circuit.release": "released circuit",
  "circuit.set": "set circuit",
  "escalation.answer": "answered an escalation of run",
  "escalation.claim": "claimed an escalation of run",
  "escalation.release": "released an escalation of run",
  "hook.delete": "deleted webhook",
  "hook.put": "set webhook",
  "namespace.create": "created namespace",
  "namespace.limits": "set limits of namespace",
  "namespace.logs": "set logs of namespace",
  "namespace.pause": "paused namespace",
  "namespace.resume": "resumed namespace",
  "namespace.retention": "set retention of namespace",
  "queue.limits": "set limits of queue",
  "queue.pause": "paused queue",
  "queue.pin": "pinned a workflow in queue",
  "queue.resume": "resumed queue",
  "queue.unpin": "unpinned a workflow in queue",
  "run.cancel": "cancelled run",
  "run.complete": "completed a deferred step of run",
  "run.decide": "decided an approval of run",
  "run.erase": "erased run",
  "run.pause": "paused run",
  "run.rerun": "re-ran run",
  "run.resume": "resumed run",
  "run.retry": "retried run",
  "schedule.backfill": "backfilled schedule",
  "schedule.create": "created schedule",
  "schedule.delete": "deleted schedule",
  "schedule.pause": "paused schedule",
  "schedule.resume": "resumed schedule",
  "schedule.trigger": "triggered schedule",
  "schedule.update": "changed schedule",
  "token.create": "created API token",
  "token.revoke": "revoked API token",
  "trigger.delete": "deleted trigger",
  "trigger.put": "set trigger",
  "workflow.default": "set the default version of workflow",
  "workflow.pause": "paused workflow",
  "workflow.register": "registered a version of workflow",
  "workflow.resume": "resumed workflow",
};

/** An action of a newer server is shown by its name. */
export function auditWords(action: string): string {
  return auditActions[action] ?? action;
}

/** The page of what was changed; null: it has none. */
export function subjectAddress(kind: string, name: string): string | null {
  const page = PAGES[kind];
  return page === undefined ? null : `${page}/${encodeURIComponent(name)}`;
}

const PAGES: Readonly<Record<string, string>> = {
  queue: "/queues",
  run: "/runs",
  schedule: "/schedules",
  trigger: "/triggers",
  workflow: "/workflows",
};

/** `KIND/NAME`, as people write a subject in a filter; null: the text has another form. */
export function subjectOf(text: string): { readonly kind: string; readonly name: string } | null {
  const found = /^([a-z]+)\/(.+)$/.exec(text);
  return found ? { kind: found[1] ?? "", name: found[2] ?? "" } : null;
}
