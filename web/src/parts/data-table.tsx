// A table of any length: only visible rows are drawn. Rows are links: Enter, click, middle click
// and `j` `k` work as expected. Rows can be selected for bulk actions.
//
// On a narrow screen each row is a card with a line for each column, as high as its content.
//
// The roles of a table are set on a grid, because a real <table> cannot leave out rows. The
// scrolling element takes the focus, so that the keyboard can scroll it. (biome.json allows both in
// this file.)

import { useVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  type ReactNode,
  type RefCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { useLocation } from "wouter";
import { useKeys } from "../shell/keys.ts";
import { visibleText } from "../words/foreign-words.ts";
import { Foreign } from "./foreign.tsx";

export interface Column<T> {
  readonly title: string;
  /** A track of a CSS grid: `12rem`, `minmax(10rem, 2fr)`. */
  readonly width: string;
  readonly align?: "end";
  readonly cell: (row: T) => ReactNode;
}

/** The selected rows, by their keys. */
export interface Choice {
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}

export interface DataTableProps<T> {
  /** What the table lists: "Runs". */
  readonly name: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The target of a row's link; left out: rows are no links. */
  readonly hrefOf?: (row: T) => string;
  readonly choice?: Choice;
  /** Loads the rows after the last one, when the reader nears it. */
  readonly onEnd?: () => void;
  /** Whether all rows are loaded. */
  readonly complete?: boolean;
}

/** The height of a row in parts.css. */
const ROW_PX = 32;
/** What a card is taken for until it is measured. */
const CARD_PX = 180;
/** Where parts.css makes cards of rows. */
const narrowScreen = matchMedia("(max-width: 40rem)");
/** Invisible rows that are drawn on each side; each one is laid out and painted with each frame. */
const OVERSCAN = 6;
/** The next page is requested this many rows before the end. */
const MORE_BEFORE_END = 50;
/** With more rows than this the table scrolls by itself; shorter tables scroll with the page. */
const SCROLLS_FROM = 15;

export function DataTable<T>(props: DataTableProps<T>) {
  const { name, columns, rows, choice, complete = true, onEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const cards = useNarrowScreen();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (cards ? CARD_PX : ROW_PX),
    overscan: OVERSCAN,
  });
  // Forgets the heights that the rows had in the other form.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the form is what has changed.
  useLayoutEffect(() => virtual.measure(), [cards]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? -1;
  useEffect(() => {
    if (!complete && last >= rows.length - MORE_BEFORE_END) onEnd?.();
  }, [complete, last, rows.length, onEnd]);
  const current = useCurrentRow(props, (at) => virtual.scrollToIndex(at));
  const tracks = useMemo(
    () => [...(choice ? ["2.25rem"] : []), ...columns.map(({ width }) => width)].join(" "),
    [columns, choice],
  );
  const { keyOf, hrefOf } = props;
  const measure = cards ? virtual.measureElement : undefined;
  const table = useMemo(
    (): RowShape<T> => ({ columns, keyOf, hrefOf, choice, measure }),
    [columns, keyOf, hrefOf, choice, measure],
  );
  const scrolls = rows.length > SCROLLS_FROM || !complete;
  return (
    <div
      ref={scroller}
      role="table"
      aria-label={name}
      aria-rowcount={complete ? rows.length + 1 : -1}
      className="table"
      data-scrolls={scrolls}
      // A table without links has nothing else to focus.
      tabIndex={scrolls || props.hrefOf === undefined ? 0 : undefined}
    >
      <HeadRow {...props} tracks={tracks} />
      <div className="table-rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <Row
              key={props.keyOf(row)}
              {...{ table, row, index, start, tracks }}
              current={index === current}
            />
          );
        })}
      </div>
    </div>
  );
}

function useNarrowScreen(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrowScreen.addEventListener("change", listener);
      return () => narrowScreen.removeEventListener("change", listener);
    },
    () => narrowScreen.matches,
  );
}

/** The row that `j` and `k` have reached; -1: none yet. */
function useCurrentRow<T>(
  { rows, hrefOf }: DataTableProps<T>,
  scrollTo: (at: number) => void,
): number {
  const [, go] = useLocation();
  const [current, setCurrent] = useState(-1);
  const moveTo = (at: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, at));
    setCurrent(next);
    scrollTo(next);
    // Enter is for this row now, not for the link that led to the page.
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  };
  const open = () => {
    const row = rows[current];
    if (row !== undefined && hrefOf !== undefined) go(hrefOf(row));
  };
  useKeys(
    hrefOf === undefined
      ? []
      : [
          { keys: "j", does: "go to the next row", act: () => moveTo(current + 1) },
          { keys: "k", does: "go to the row before", act: () => moveTo(current - 1) },
          { keys: "Enter", does: "open the row", act: open },
          { keys: "o", does: "open the row", act: open },
        ],
  );
  return current;
}

function HeadRow<T>(props: DataTableProps<T> & { readonly tracks: string }) {
  const { columns, rows, keyOf, choice, tracks } = props;
  const all = choice !== undefined && rows.length > 0 && choice.chosen.size >= rows.length;
  return (
    <div role="rowgroup" className="table-head">
      <div role="row" className="table-row" style={{ gridTemplateColumns: tracks }}>
        {choice === undefined ? null : (
          <div role="columnheader">
            <ChoiceBox
              name="Select all loaded rows"
              checked={all}
              onChange={() => choice.onChoose(all ? new Set() : new Set(rows.map(keyOf)))}
            />
          </div>
        )}
        {columns.map(({ title, align }) => (
          <div role="columnheader" key={title} data-align={align}>
            {title}
          </div>
        ))}
      </div>
    </div>
  );
}

/**
 * Properties shared by all rows. Pass the same object, so that visible rows are not drawn again.
 */
interface RowShape<T> extends Pick<DataTableProps<T>, "columns" | "keyOf"> {
  readonly hrefOf: ((row: T) => string) | undefined;
  readonly choice: Choice | undefined;
  /** Reports the height of a card; undefined: rows have one height. */
  readonly measure: RefCallback<HTMLDivElement> | undefined;
}

/** Memoized: scrolling does not draw visible rows again. */
const Row: typeof BodyRow = memo(BodyRow) as typeof BodyRow;

interface BodyRowProps<T> {
  readonly table: RowShape<T>;
  readonly row: T;
  readonly index: number;
  readonly start: number;
  readonly tracks: string;
  readonly current: boolean;
}

function BodyRow<T>({ table, row, index, start, tracks, current }: BodyRowProps<T>) {
  const [, go] = useLocation();
  const { columns, keyOf, hrefOf, choice, measure } = table;
  const key = keyOf(row);
  const href = hrefOf?.(row);
  const chosen = choice?.chosen.has(key) ?? false;
  return (
    <div
      ref={measure}
      role="row"
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={choice ? chosen : undefined}
      className="table-row"
      data-current={current}
      data-leads={href !== undefined}
      style={{ gridTemplateColumns: tracks, transform: `translateY(${start}px)` }}
      onClick={(event) => {
        const onItsOwn =
          event.target instanceof Element && event.target.closest("a, button, label");
        const selecting = getSelection()?.isCollapsed === false;
        if (href !== undefined && !onItsOwn && !selecting) go(href);
      }}
    >
      {choice === undefined ? null : (
        <div role="cell">
          <ChoiceBox
            name={`Select ${key}`}
            checked={chosen}
            onChange={() => {
              const next = new Set(choice.chosen);
              if (!next.delete(key)) next.add(key);
              choice.onChoose(next);
            }}
          />
        </div>
      )}
      {columns.map(({ title, align, cell }) => {
        const content = cell(row);
        // What the column has no room for.
        const whole =
          typeof content === "string" && content !== "" ? visibleText(content) : undefined;
        return (
          <div role="cell" key={title} data-align={align} data-title={title} title={whole}>
            <CellContent of={content} />
          </div>
        );
      })}
    </div>
  );
}

/** The label is larger than the box, for touch screens. */
function ChoiceBox(props: {
  readonly name: string;
  readonly checked: boolean;
  readonly onChange: () => void;
}) {
  const { name, checked, onChange } = props;
  return (
    <label className="choice-box">
      <input type="checkbox" aria-label={name} checked={checked} onChange={onChange} />
    </label>
  );
}

/** A cell's plain text often comes from agents or callers. */
function CellContent({ of }: { readonly of: ReactNode }) {
  return typeof of === "string" ? <Foreign text={of} /> : of;
}
