/** What the demo starts beside Drover: three remote services with a ledger each, three agents. */
import { join } from "node:path";
import type { Child, Processes } from "../../stage/processes.ts";
import { textIn, type Workspace } from "../../stage/workspace.ts";
import type { ServiceKind } from "../services/booking-desk.ts";
import { fullHotel, travellersWithoutHotel } from "./holidays.ts";

/** File of each ledger. */
export function ledgerFiles({ ledgers }: Workspace): Readonly<Record<ServiceKind, string>> {
  return {
    flight: join(ledgers, "flight.jsonl"),
    hotel: join(ledgers, "hotel.jsonl"),
    car: join(ledgers, "car.jsonl"),
  };
}

/** URL of each remote service. */
export type Services = Readonly<Record<ServiceKind, string>>;

export async function startServices(
  workspace: Workspace,
  processes: Processes,
  seed: number,
): Promise<Services> {
  const ledgers = ledgerFiles(workspace);
  const start = async (kind: ServiceKind) => {
    const full = kind === "hotel" ? ["--full", fullHotel, ...travellersWithoutHotel] : [];
    const { ready } = await processes.startReady({
      name: `${kind}-service`,
      program: new URL("../services/booking-service.ts", import.meta.url),
      args: ["--kind", kind, "--ledger", ledgers[kind], "--seed", String(seed), ...full],
    });
    return textIn(ready, "url");
  };
  const [flight, hotel, car] = await Promise.all([start("flight"), start("hotel"), start("car")]);
  return { flight, hotel, car };
}

export function startAgent(
  processes: Processes,
  kind: ServiceKind,
  {
    address,
    service,
    trace,
  }: { readonly address: string; readonly service: string; readonly trace: string | null },
): Child {
  return processes.start({
    name: `${kind}-agent`,
    program: new URL(`../agents/${kind}-agent.ts`, import.meta.url),
    args: ["--address", address, "--service", service],
    trace,
  });
}
