// A panel at the right edge of the page, above its content; on a phone it takes the whole width.
// It does not block the page: another step can be selected while it is open. It takes the focus
// when its title changes, and gives it back to what opened it. Escape closes it.
import { type ReactNode, useEffect, useId, useRef } from "react";
import { Foreign } from "../../parts/foreign.tsx";
import { useKeys } from "../../shell/keys.ts";
import "./run-drawer.css";

export function RunDrawer(props: {
  readonly title: string;
  /** Between the title and the button that closes it. */
  readonly beside?: ReactNode;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const { title, beside, onClose, children } = props;
  const box = useRef<HTMLElement>(null);
  useFocus(box, title);
  useKeys([{ keys: "Escape", does: "close the step", act: onClose }]);
  const id = useId();
  return (
    <section ref={box} className="run-drawer" role="dialog" aria-labelledby={id} tabIndex={-1}>
      <div className="run-drawer-head">
        <h2 id={id}>
          <Foreign text={title} />
        </h2>
        {beside}
        <button type="button" className="quiet" onClick={onClose}>
          Close
        </button>
      </div>
      {children}
    </section>
  );
}

function useFocus(box: { readonly current: HTMLElement | null }, title: string): void {
  const opener = useRef<Element | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another title is another content.
  useEffect(() => {
    if (!box.current?.contains(document.activeElement)) opener.current = document.activeElement;
    box.current?.scrollTo(0, 0);
    box.current?.focus({ preventScroll: true });
  }, [box, title]);
  useEffect(
    () => () => {
      const to = opener.current;
      if (to instanceof HTMLElement && to.isConnected) to.focus({ preventScroll: true });
    },
    [],
  );
}
