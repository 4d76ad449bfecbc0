// What a page does not change itself, and the command that does.
import { useNamespace } from "../shell/namespace.tsx";

export function CommandNote(props: {
  /** What the command does: "Create or change a trigger". */
  readonly does: string;
  /** Without its namespace, which is added. */
  readonly command: string;
}) {
  const { does, command } = props;
  const namespace = useNamespace();
  const within = namespace === "default" ? "" : ` --namespace ${namespace}`;
  return (
    <p className="dim">
      {does}:{" "}
      <code>
        {command}
        {within}
      </code>
    </p>
  );
}
