// Short messages about what was just done; screen readers read them, too.

import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { Foreign } from "../parts/foreign.tsx";

interface Notice {
  readonly id: number;
  readonly text: string;
}

const Notices = createContext<(text: string) => void>(() => undefined);
const SHOWN_MS = 7_000;

export function NoticeProvider({ children }: { readonly children: ReactNode }) {
  const [shown, setShown] = useState<readonly Notice[]>([]);
  const notify = useCallback((text: string) => {
    const id = performance.now();
    setShown((before) => [...before.slice(-2), { id, text }]);
    setTimeout(() => setShown((before) => before.filter((one) => one.id !== id)), SHOWN_MS);
  }, []);
  return (
    <Notices.Provider value={notify}>
      {children}
      <div className="notices" role="status">
        {shown.map(({ id, text }) => (
          <p key={id}>
            <Foreign text={text} />
          </p>
        ))}
      </div>
    </Notices.Provider>
  );
}

/** Shows what was done, as "The run is paused." */
export function useNotice(): (text: string) => void {
  return useContext(Notices);
}
