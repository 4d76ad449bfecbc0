// A list that comes in pages: the first at once, each next one when the reader comes near its end.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Loaded, useCall } from "./use-call.ts";

export interface ListPage<T> {
  readonly rows: readonly T[];
  /** Empty: this is the last. */
  readonly nextPageToken: string;
}

export interface PagedList<T> {
  readonly state: Loaded<ListPage<T>>;
  readonly rows: readonly T[];
  /** Whether all rows are there. */
  readonly complete: boolean;
  /** Loads the next page, once at a time. */
  readonly more: () => void;
  /** Loads from the start again; what is there stays until then. */
  readonly again: () => void;
}

export function useList<T>(
  key: string,
  load: (pageToken: string, signal: AbortSignal) => Promise<ListPage<T>>,
  options: { readonly everyMs?: number } = {},
): PagedList<T> {
  const first = useCall(key, (signal) => load("", signal), options);
  const [rest, setRest] = useState<Rest<T>>({ of: "", pages: [], nextPageToken: "" });
  const loading = useRef(false);
  const firstPage = first.kind === "loaded" ? first.value : null;
  // Rows that came after one first page do not fit behind another.
  const of = firstPage ? `${key} ${firstPage.nextPageToken}` : "";
  const behind = rest.of === of ? rest : null;
  const token = (behind ?? firstPage)?.nextPageToken ?? "";
  const loader = useRef(load);
  loader.current = load;
  const ending = useRef(new AbortController());
  useEffect(() => {
    ending.current = new AbortController();
    return () => ending.current.abort();
  }, []);

  const more = useCallback(() => {
    if (loading.current || token === "") return;
    loading.current = true;
    void loader
      .current(token, ending.current.signal)
      .then(
        ({ rows, nextPageToken }) =>
          setRest((known) => {
            const before = known.of === of ? known.pages : [];
            return { of, pages: [...before, rows], nextPageToken };
          }),
        // The next look at the end of the list asks again.
        () => undefined,
      )
      .finally(() => {
        loading.current = false;
      });
  }, [token, of]);

  // One copy for each page: of 100,000 rows that is what the collector has to clear away.
  const rows = useMemo(
    () => (firstPage ? firstPage.rows.concat(...(behind?.pages ?? [])) : []),
    [firstPage, behind],
  );
  const complete = firstPage !== null && token === "";
  return { state: first, rows, complete, more, again: first.again };
}

/** What came behind the first page. */
interface Rest<T> {
  /** Which list, and which first page of it. */
  readonly of: string;
  readonly pages: readonly (readonly T[])[];
  readonly nextPageToken: string;
}
