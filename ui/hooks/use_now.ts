import { useLayoutEffect, useState } from "hono/jsx/dom";
import { gatewayNow } from "../api.ts";
import { isVisible } from "./page.ts";

/** Returns the gateway's time, and renders again every interval while the page is visible. */
export function useNow(everyMs: number): number {
  const [nowMs, setNowMs] = useState(gatewayNow());
  useLayoutEffect(() => {
    const tick = () => {
      if (isVisible()) setNowMs(gatewayNow());
    };
    const timer = setInterval(tick, everyMs);
    document.addEventListener("visibilitychange", tick);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", tick);
    };
  }, [everyMs]);
  return nowMs;
}
