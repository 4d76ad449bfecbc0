/** The acts of the script that a program under test runs: those of PROTOCOL.md, as types. */

export type Mark =
  | { readonly fraction: number }
  | { readonly counter: number }
  | { readonly cursor: string };

export type EndingAct =
  | { readonly success: unknown }
  | { readonly echo: "input" | "details" | "output" }
  | { readonly large: number }
  | {
      readonly fail: {
        readonly code: string;
        readonly message?: string;
        readonly permanent?: boolean;
        readonly retry_after_ms?: number;
        readonly no_effect?: boolean;
      };
    }
  | { readonly unknown: { readonly code: string; readonly message?: string } }
  | { readonly again: { readonly after_ms: number } }
  | { readonly deferred: Record<string, never> }
  | { readonly cancelled: { readonly no_effect?: boolean } }
  | { readonly happened: unknown }
  | { readonly did_not_happen: Record<string, never> }
  | { readonly cannot_tell: { readonly message: string } }
  | { readonly throw: string };

export type Act =
  | EndingAct
  | { readonly progress: Mark }
  | { readonly details: unknown }
  | { readonly await: string; readonly on_stop?: EndingAct }
  | { readonly deaf: string }
  | { readonly log: string };

/** One try each; see PROTOCOL.md for which one is taken. */
export type Tries = readonly (readonly Act[])[];

export interface Script {
  readonly perform?: Tries;
  readonly verify?: Tries;
  readonly compensate?: Tries;
  /** Carried, and not read. */
  readonly ballast?: unknown;
}
