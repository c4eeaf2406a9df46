import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { gatewayNow } from "../api.ts";
import { type Load, type Polled, Poller } from "../logic/poller.ts";
import { after, isVisible } from "./page.ts";

/** Polls while the page is visible; the second value is a function that polls at once. */
export function usePolled<T>(load: Load<T>, everyMs: number): [Polled<T>, () => void] {
  const [polled, setPolled] = useState<Polled<T>>({
    data: undefined,
    error: undefined,
    currentAtMs: undefined,
  });
  const poller = useRef<Poller<T> | null>(null);
  poller.current ??= new Poller(load, everyMs, setPolled, {
    nowMs: gatewayNow,
    isVisible,
    after,
  });
  useLayoutEffect(() => {
    const look = () => poller.current?.look();
    document.addEventListener("visibilitychange", look);
    void poller.current?.refresh();
    return () => {
      document.removeEventListener("visibilitychange", look);
      poller.current?.stop();
    };
  }, []);
  return [polled, () => void poller.current?.refresh()];
}
