// Who watches for what does not happen: the servers that do, the partitions of each and how late
// they are, and who had which from when to when.
import { useSearch } from "wouter";
import { PageHead } from "../../parts/page-head.tsx";
import { HandOverList } from "./hand-over-list.tsx";
import { PartitionList } from "./partition-list.tsx";
import { SupervisorList } from "./supervisor-list.tsx";

/** `?partition=17`: hand-overs of that one alone. */
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
