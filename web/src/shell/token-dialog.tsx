// Asks for a token when the server wants to know who calls, and not before.
import { useEffect, useRef } from "react";
import { operator } from "../calls/clients.ts";
import { useCall } from "../calls/use-call.ts";
import { keepToken, token } from "./session.ts";

export function TokenDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = useCall("may I?", (signal) => operator.listNamespaces({ pageSize: 1 }, { signal }));
  const wanted = asked.kind === "failed" && asked.problem.kind === "token";
  useEffect(() => {
    if (wanted) dialog.current?.showModal();
    else dialog.current?.close();
  }, [wanted]);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="token-title">
      <h2 id="token-title">This server asks for a token</h2>
      <p>
        {token() === null
          ? "It stays in this tab until the tab is closed, and is sent to this server alone."
          : "The server does not take the one that you gave. It may have run out."}
      </p>
      <form
        method="dialog"
        onSubmit={(event) => {
          const given = new FormData(event.currentTarget).get("token");
          if (typeof given === "string" && given !== "") keepToken(given.trim());
        }}
      >
        <label className="field">
          <span>Token</span>
          <input name="token" type="password" autoComplete="off" required />
        </label>
        <div className="dialog-acts">
          <button type="submit" className="main">
            Go on
          </button>
        </div>
      </form>
    </dialog>
  );
}
