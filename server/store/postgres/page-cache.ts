// First pages that this process has read or written last, decoded: a page whose version is known is
// neither sent nor decoded again, and a small batch is decided by it before the database has
// answered. The version that the database has is the only thing that is trusted.
import type { EpochMs } from "../../core/attempt.ts";
import { isEnded } from "../../core/model.ts";
import { decodePage, type EncodedPage } from "../../core/page/codec.ts";
import type { RunId } from "../store.ts";

/** Of the texts; what is decoded takes about four times as much. */
const BYTES_MAX = 16 * 1024 * 1024;

export interface PageCache {
  /** The first page that is known; null: none is. */
  known(runId: RunId): KnownPage | null;
  decoded(runId: RunId, no: number, version: number, text: string): EncodedPage;
  /** The first page of a run, as it was committed. Of one that has ended none is kept. */
  keep(runId: RunId, page: KnownPage): void;
  /** Another version of it was met, or somebody else holds it. */
  drop(runId: RunId): void;
  /** The database is another one: what is known may never have been. */
  forget(): void;
}

export interface KnownPage {
  readonly version: number;
  readonly encoded: EncodedPage;
  /** As it is stored. */
  readonly wakeAt: EpochMs | null;
}

export function createPageCache(bytesMax = BYTES_MAX): PageCache {
  const known = new Map<RunId, KnownPage>();
  let bytes = 0;

  function drop(runId: RunId): void {
    const before = known.get(runId);
    if (!before) return;
    bytes -= before.encoded.text.length;
    known.delete(runId);
  }

  function keep(runId: RunId, page: KnownPage): void {
    // Answers of two connections may be heard in another order than they were given.
    if ((known.get(runId)?.version ?? 0) > page.version) return;
    drop(runId);
    const { head } = page.encoded.page;
    if (head && isEnded(head.run.state)) return;
    known.set(runId, page);
    bytes += page.encoded.text.length;
    // Oldest first, in the order of their last use.
    for (const oldest of known.keys()) {
      if (bytes <= bytesMax) break;
      drop(oldest);
    }
  }

  return Object.freeze({
    known: (runId: RunId) => known.get(runId) ?? null,
    decoded(runId: RunId, no: number, version: number, text: string): EncodedPage {
      const found = no === 0 ? known.get(runId) : undefined;
      return found?.version === version ? found.encoded : decodePage(text);
    },
    keep,
    drop,
    forget() {
      known.clear();
      bytes = 0;
    },
  });
}
