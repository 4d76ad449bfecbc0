// A workflow of which a scenario has no file, and which the one that it plays begins: it becomes
// one task of its name, so that agents can be scripted for it like for any other.

export function stubWorkflow(name: string): string {
  const step = { id: "run", task: name, queue: STUB_QUEUE, retry: { attempts: 1 } };
  return JSON.stringify({ workflow: name, steps: [step] });
}

export const STUB_QUEUE = "runs";
