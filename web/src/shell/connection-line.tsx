// Reports that the server does not answer, and that the user need not reload the page.
import { useConnectionLost } from "../calls/connection.ts";

export function ConnectionLine() {
  const lost = useConnectionLost();
  return (
    <div role="status" className="connection">
      {lost ? (
        <p>
          <strong>Connection lost, trying again.</strong> The page shows the last known state, and
          nothing can be changed; it continues by itself.
        </p>
      ) : null}
    </div>
  );
}
