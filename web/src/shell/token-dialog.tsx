// Asks for a token when the server requires one, and not before.
import { useEffect, useRef } from "react";
import { operator } from "../calls/clients.ts";
import { useCall } from "../calls/use-call.ts";
import { keepToken, onRefused, token } from "./session.ts";

export function TokenDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = useCall("may I?", (signal) => operator.listNamespaces({ pageSize: 1 }, { signal }));
  const problem = asked.kind === "failed" && asked.problem.kind === "token" ? asked.problem : null;
  const wanted = problem !== null;
  const { kind, again } = asked;
  useEffect(() => {
    if (wanted) dialog.current?.showModal();
    else dialog.current?.close();
  }, [wanted]);
  // A token that was valid until now may be refused later.
  useEffect(() => (kind === "loaded" ? onRefused(again) : undefined), [kind, again]);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby="token-title"
      onCancel={(event) => event.preventDefault()}
    >
      <h2 id="token-title">This server requires a token</h2>
      {token() === null ? (
        <p>The token is stored in this tab until it is closed, and is sent only to this server.</p>
      ) : (
        <p role="alert">The server refused this token. {problem?.message}</p>
      )}
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
          <button type="submit" className="main">
            Sign in
          </button>
        </div>
      </form>
    </dialog>
  );
}
