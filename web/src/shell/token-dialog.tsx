// Asks for a token when the server requires one, and not before: a person signs in at the identity
// provider of the server, if it has one, or enters an API token.
import { useEffect, useRef, useState } from "react";
import { operator } from "../calls/clients.ts";
import type { Problem } from "../calls/problem.ts";
import { useCall } from "../calls/use-call.ts";
import { keepToken, onRefused, signedIn, token } from "./session.ts";
import { beginSignIn, identityProvider, signInFailure } from "./sign-in.ts";

export function TokenDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = useCall("may I?", (signal) => operator.listNamespaces({ pageSize: 1 }, { signal }));
  const problem = asked.kind === "failed" && asked.problem.kind === "token" ? asked.problem : null;
  const wanted = problem !== null;
  const provider = useCall(wanted ? "provider" : null, identityProvider);
  // What the dialog offers is known when the server has named its provider.
  const isReady = wanted && provider.kind !== "loading";
  const { kind, again } = asked;
  useEffect(() => {
    if (isReady) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isReady]);
  // A token that was valid until now may be refused later.
  useEffect(() => (kind === "loaded" ? onRefused(again) : undefined), [kind, again]);
  const found = provider.kind === "loaded" ? provider.value : null;
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby="token-title"
      onCancel={(event) => event.preventDefault()}
    >
      <h2 id="token-title">{found === null ? "This server requires a token" : "Sign in"}</h2>
      <WhyAsked problem={problem} isPerson={found !== null} />
      {found === null ? (
        <TokenForm isMain />
      ) : (
        <>
          <ProviderButton host={found.issuer.host} begin={() => beginSignIn(found)} />
          <details>
            <summary>Use an API token</summary>
            <TokenForm isMain={false} />
          </details>
        </>
      )}
    </dialog>
  );
}

function WhyAsked(props: { readonly problem: Problem | null; readonly isPerson: boolean }) {
  const { problem, isPerson } = props;
  const failure = signInFailure();
  if (token() === null && failure !== "")
    return <p role="alert">Signing in did not succeed: {failure}</p>;
  if (token() !== null) {
    const what = signedIn() === null ? "this token" : "your sign-in";
    return (
      <p role="alert">
        The server refused {what}. {problem?.message}
      </p>
    );
  }
  const what = isPerson ? "Your sign-in" : "The token";
  return <p>{what} is stored in this tab until it is closed, and is sent only to this server.</p>;
}

function ProviderButton(props: { readonly host: string; readonly begin: () => Promise<void> }) {
  const [state, setState] = useState<"idle" | "leaving" | { readonly failure: string }>("idle");
  const begin = async () => {
    setState("leaving");
    try {
      await props.begin();
    } catch (error) {
      setState({ failure: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <>
      {typeof state === "object" ? (
        <p role="alert">
          {props.host} cannot be used: {state.failure}
        </p>
      ) : null}
      <div className="dialog-acts">
        <button
          type="button"
          className="main"
          disabled={state === "leaving"}
          onClick={() => void begin()}
        >
          Sign in with {props.host}
        </button>
      </div>
    </>
  );
}

function TokenForm({ isMain }: { readonly isMain: boolean }) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const given = new FormData(event.currentTarget).get("token");
        event.currentTarget.reset();
        if (typeof given === "string" && given !== "") keepToken(given.trim());
      }}
    >
      <label className="field">
        <span>Token</span>
        <input
          name="token"
          type="password"
          autoComplete="off"
          required
          pattern="\s*drover_[A-Za-z0-9_\-]{43}\s*"
          title="drover_ and 43 letters, digits, - or _"
        />
      </label>
      <div className="dialog-acts">
        <button type="submit" className={isMain ? "main" : undefined}>
          {isMain ? "Sign in" : "Use this token"}
        </button>
      </div>
    </form>
  );
}
