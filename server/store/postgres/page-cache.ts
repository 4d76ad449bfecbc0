// The first pages that this process has read or written last, decoded. A page whose version is
// known is neither sent nor decoded again, and a small batch is decided by the cache before the
// database has answered. Only the version that the database has is trusted.
import type { EpochMs } from "../../core/model/attempt.ts";
import { isEnded } from "../../core/model/model.ts";
import { decodePage, type EncodedPage } from "../../core/page/codec.ts";
import type { RunId } from "../store.ts";

/** Size of the texts; what is decoded takes about four times as much. */
const BYTES_MAX = 16 * 1024 * 1024;

export interface PageCache {
  /** The first page that is known; null: none is. */
  known(runId: RunId): KnownPage | null;
  decoded(runId: RunId, no: number, version: number, text: string): EncodedPage;
  /** Stores the first page of a run as it was committed. Pages of ended runs are not stored. */
  keep(runId: RunId, page: KnownPage): void;
  /** Another version of it was met, or another transaction holds it. */
  drop(runId: RunId): void;
  /** The database is another one: it may never have had what is cached. */
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
    // Answers on two connections may arrive in another order than they were given.
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
