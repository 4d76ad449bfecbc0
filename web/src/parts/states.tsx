// Placeholders for content: nothing there, still loading, could not be loaded. Each describes the
// problem and the next action.

import type { ReactNode } from "react";
import { Link } from "wouter";
import type { Problem } from "../calls/problem.ts";
import type { Loaded } from "../calls/use-call.ts";
import { Foreign } from "./foreign.tsx";
import { ForeignMessage } from "./foreign-message.tsx";
import { Icon } from "./icon.tsx";

interface Next {
  readonly href: string;
  readonly text: string;
}

/** The title is the heading of the page if the placeholder replaces the whole page. */
function StateTitle(props: { readonly text: string; readonly wholePage: boolean | undefined }) {
  return props.wholePage === true ? (
    <h1 className="state-title">{props.text}</h1>
  ) : (
    <p className="state-title">{props.text}</p>
  );
}

export function EmptyState(props: {
  readonly title: string;
  /** There is nothing else on the page. */
  readonly wholePage?: boolean;
  readonly text?: ReactNode;
  readonly next?: Next;
}) {
  return (
    <div className="state" data-kind="empty">
      <Icon name="none" />
      <StateTitle text={props.title} wholePage={props.wholePage} />
      {props.text === undefined ? null : (
        <p>{typeof props.text === "string" ? <Foreign text={props.text} /> : props.text}</p>
      )}
      {props.next === undefined ? null : <Link href={props.next.href}>{props.next.text}</Link>}
    </div>
  );
}

const SKELETON_ROWS = 5;

/**
 * `what` as in "Loading the runs", which screen readers read. Grey bars are where the content will
 * be; they appear after a short delay: most answers arrive before.
 */
export function LoadingState(props: {
  readonly what: string;
  /** There is nothing else on the page: its title is missing, too. */
  readonly wholePage?: boolean;
}) {
  const { what, wholePage = false } = props;
  return (
    <div className="skeleton" aria-busy="true" data-whole={wholePage}>
      <p role="status" className="unseen">
        Loading {what}…
      </p>
      {wholePage ? <i className="skeleton-title" /> : null}
      {Array.from({ length: SKELETON_ROWS }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike.
        <i key={row} />
      ))}
    </div>
  );
}

/** `what` as in "the runs could not be loaded". */
export function ProblemState(props: {
  readonly problem: Problem;
  readonly what: string;
  /** There is nothing else on the page. */
  readonly wholePage?: boolean;
  readonly again?: () => void;
}) {
  const { problem, what, wholePage, again } = props;
  return (
    <div className="state" data-kind="problem" role="alert">
      <Icon name="bad" />
      <StateTitle text={`Could not load ${what}`} wholePage={wholePage} />
      <ProblemText problem={problem} />
      {again === undefined ? null : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** What is wrong and what to do next, for any failed call. */
export function ProblemText({ problem }: { readonly problem: Problem }) {
  return (
    <>
      <p>
        <ForeignMessage text={problem.message} />
      </p>
      {problem.fields.length === 0 ? null : (
        <ul>
          {problem.fields.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> <Foreign text={message} />
            </li>
          ))}
        </ul>
      )}
      <p>
        {problem.next}{" "}
        {problem.reason === "" ? null : <code className="dim">{problem.reason}</code>}
      </p>
    </>
  );
}

/** Shows the loaded value, or a placeholder that explains why it is missing. */
export function Shown<T>(props: {
  readonly of: Loaded<T> & { readonly again?: () => void };
  readonly what: string;
  /** There is nothing else on the page. */
  readonly wholePage?: boolean;
  readonly children: (value: T) => ReactNode;
}) {
  const { of, what, wholePage = false, children } = props;
  switch (of.kind) {
    case "loading":
      return <LoadingState {...{ what, wholePage }} />;
    case "failed":
      return (
        <ProblemState
          problem={of.problem}
          {...{ what, wholePage }}
          {...(of.again ? { again: of.again } : {})}
        />
      );
    case "loaded":
      return children(of.value);
  }
}
