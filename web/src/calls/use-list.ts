// A list in pages: the first page is loaded at once, each further page when the reader nears the
// end.
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Loaded, useCall } from "./use-call.ts";

export interface ListPage<T> {
  readonly rows: readonly T[];
  /** Empty: this is the last page. */
  readonly nextPageToken: string;
  /** If the page is short because the server stopped its search: how far it has come. */
  readonly searchedTo?: Timestamp | undefined;
}

export interface PagedList<T> {
  readonly state: Loaded<ListPage<T>>;
  readonly rows: readonly T[];
  /** Whether all rows are loaded. */
  readonly complete: boolean;
  /** Of the last page that is loaded. */
  readonly searchedTo: Timestamp | undefined;
  /** Loads the next page; only one at a time. */
  readonly more: () => void;
  /** Reloads from the start; the loaded rows stay until then. */
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
  // Further pages belong to the first page after which they were loaded, and cannot follow another.
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
        ({ rows, nextPageToken, searchedTo }) =>
          setRest((known) => {
            const before = known.of === of ? known.pages : [];
            return { of, pages: [...before, rows], nextPageToken, searchedTo };
          }),
        // The next time the reader nears the end, the page is requested again.
        () => undefined,
      )
      .finally(() => {
        loading.current = false;
      });
  }, [token, of]);

  // One copy for each page: with 100,000 rows, more copies would burden the garbage collector.
  const rows = useMemo(
    () => (firstPage ? firstPage.rows.concat(...(behind?.pages ?? [])) : []),
    [firstPage, behind],
  );
  const complete = firstPage !== null && token === "";
  const { searchedTo } = behind ?? firstPage ?? {};
  return { state: first, rows, complete, searchedTo, more, again: first.again };
}

/** The pages after the first one. */
interface Rest<T> {
  /** The list, and its first page, that these pages follow. */
  readonly of: string;
  readonly pages: readonly (readonly T[])[];
  readonly nextPageToken: string;
  readonly searchedTo?: Timestamp | undefined;
}
