// The export of the audit: all entries that pass the filters, as a file of JSON lines.
import { toJsonString } from "@bufbuild/protobuf";
import { type AuditEntry, AuditEntrySchema } from "@drover/proto/drover/v1/audit_pb.ts";
import { useState } from "react";
import { problemOf } from "../../calls/problem.ts";
import { numberWords } from "../../words/counts.ts";

/** A browser holds the whole file in memory; the command line has no such limit. */
const EXPORTED_MAX = 50_000;

interface Page {
  readonly rows: readonly AuditEntry[];
  readonly nextPageToken: string;
}

/** `load` returns the page after the token. */
export function AuditExport({ load }: { readonly load: (pageToken: string) => Promise<Page> }) {
  const [note, setNote] = useState("");
  const [running, setRunning] = useState(false);
  async function run() {
    setRunning(true);
    try {
      const lines: string[] = [];
      let token = "";
      do {
        const page = await load(token);
        lines.push(...page.rows.map((one) => `${toJsonString(AuditEntrySchema, one)}\n`));
        token = page.nextPageToken;
        setNote(`${numberWords(lines.length)} entries…`);
      } while (token !== "" && lines.length < EXPORTED_MAX);
      save(new Blob(lines, { type: "application/jsonl" }), "audit.jsonl");
      const count = `Exported ${numberWords(lines.length)} entries`;
      setNote(
        token === ""
          ? `${count}.`
          : `${count}, and there are more: use drover audit list --all -o jsonl.`,
      );
    } catch (error) {
      setNote(`Not exported. ${problemOf(error).message}`);
    } finally {
      setRunning(false);
    }
  }
  return (
    <>
      <span role="status" className="dim">
        {note}
      </span>
      <button type="button" disabled={running} onClick={() => void run()}>
        Export as JSON lines
      </button>
    </>
  );
}

function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
