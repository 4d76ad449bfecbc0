/** What is wanted, the first draft of the plan for it with its mistakes, and what goes wrong. */
import type { Fault } from "../stage/faults.ts";

/** Key of the run that the assistant plans, in the namespace default. */
export const errand = "offsite";
/** Key of the run of the finance department, in the namespace finance. */
export const deposit = "deposit-offsite";
export const input = { ref: errand, day: "2026-12-11", people: 12 };

/** Two mistakes: a key that there is not, and a step that there is not. */
export const draft = `workflow: plan-offsite
steps:
  - id: plan
    approval: { approvers: [olga], not_requester: true }
  - id: hall
    needs: [plan]
    task: book-hall
    queue: errands
    retrys: { attempts: 5, initial: 50ms }
    timeouts: { heartbeat: 2s }
    compensate: { task: cancel-hall }
  - id: food
    needs: [halls]
    task: order-food
    queue: errands
    effects: once # the kitchen has no keys: an unknown outcome is for a person
    timeouts: { heartbeat: 2s }
  - id: invite
    needs: [food]
    task: send-invitations
    queue: errands
    timeouts: { heartbeat: 2s }
`;

export const faults: Readonly<Record<string, readonly Fault[]>> = {
  [`hall/book ${errand}`]: ["drop-after"],
  [`kitchen/order ${errand}`]: ["crash"],
  [`bank/transfer ${deposit}`]: ["drop-after"],
};

/** What has to be in the ledger, once each. */
export const wanted = [
  { service: "hall", did: "booked", ref: errand },
  { service: "kitchen", did: "ordered", ref: errand },
  { service: "mail", did: "invited", ref: errand },
  { service: "bank", did: "paid", ref: deposit },
] as const;
