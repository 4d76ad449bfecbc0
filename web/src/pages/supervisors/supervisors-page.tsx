// Supervisors: the servers that supervise, their partitions and how late these are, and the history
// of owners.
import { useSearch } from "wouter";
import { PageHead } from "../../parts/page-head.tsx";
import { HandOverList } from "./hand-over-list.tsx";
import { PartitionList } from "./partition-list.tsx";
import { SupervisorList } from "./supervisor-list.tsx";

/** `?partition=17`: only the hand-overs of that partition. */
export function SupervisorsPage() {
  const asked = new URLSearchParams(useSearch()).get("partition") ?? "";
  return (
    <>
      <PageHead title="Supervisors" />
      <SupervisorList />
      <PartitionList />
      <HandOverList partition={/^\d{1,5}$/.test(asked) ? Number(asked) : null} />
    </>
  );
}
