// Confines a defect of one page to that page: the navigation stays, and the user sees a message.
import { Component, type ErrorInfo, type ReactNode } from "react";
import { ProblemState } from "../parts/states.tsx";

interface Props {
  readonly children: ReactNode;
}

interface State {
  readonly defect: Error | null;
}

/** React supports error boundaries only as classes. */
export class PageBoundary extends Component<Props, State> {
  override readonly state: State = { defect: null };

  static getDerivedStateFromError(error: unknown): State {
    return { defect: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidCatch(error: unknown, info: ErrorInfo): void {
    reportError(new Error(`a page met a defect ${info.componentStack ?? ""}`, { cause: error }));
  }

  override render(): ReactNode {
    const { defect } = this.state;
    if (defect === null) return this.props.children;
    const next = "Load the page again; if that does not help, report it with this text.";
    const fields = { kind: "refused", reason: "", fields: [], isAtField: false } as const;
    return (
      <ProblemState
        problem={{ ...fields, message: defect.message, next }}
        what="this page"
        wholePage
      />
    );
  }
}
