// Says that the server does not answer, and that the user need not do anything about the page.
import { useConnectionLost } from "../calls/connection.ts";

export function ConnectionLine() {
  const lost = useConnectionLost();
  return (
    <div role="status" className="connection">
      {lost ? (
        <p>
          <strong>Connection lost, trying again.</strong> What you see is as of then; it goes on by
          itself.
        </p>
      ) : null}
    </div>
  );
}
