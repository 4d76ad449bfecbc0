// Replaces a workflow that the played workflow begins and that the scenario has no file for. It has
// one task of the workflow's name, so that scenarios can script agents for it like for any task.

export function stubWorkflow(name: string): string {
  const step = { id: "run", task: name, queue: STUB_QUEUE, retry: { attempts: 1 } };
  return JSON.stringify({ workflow: name, steps: [step] });
}

export const STUB_QUEUE = "runs";
