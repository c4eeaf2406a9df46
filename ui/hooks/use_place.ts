import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { fragmentOf, type Place, placeOf } from "../logic/place.ts";
import { after } from "./page.ts";

/** How a move enters the history: a step that Back undoes, or in place of the present one. */
export type Move = "push" | "replace";

/** Where the user is, as the fragment says, and the way to other places. */
export interface Places {
  readonly place: Place;
  readonly go: (change: Partial<Place>, move: Move) => void;
  /** Closes what lies over the view: one step back where it was opened from there. */
  readonly closeOverlay: () => void;
}

/** Browsers refuse too many changes of the address: typing is written down in pauses. */
const WRITE_DELAY_MS = 120;

/** Keeps the place and the fragment the same. */
export function usePlace(): Places {
  const [place, setPlace] = useState(() => placeOf(location.hash));
  const current = useRef(place);
  const cancelWrite = useRef(() => {});
  const write = () => {
    cancelWrite.current();
    history.replaceState(history.state, "", fragmentOf(current.current));
  };
  useLayoutEffect(() => {
    const read = () => {
      cancelWrite.current();
      current.current = placeOf(location.hash);
      setPlace(current.current);
    };
    addEventListener("popstate", read);
    return () => removeEventListener("popstate", read);
  }, []);
  const go = (change: Partial<Place>, move: Move) => {
    const before = current.current;
    if (move === "push") write(); // Back must find what was typed last
    current.current = { ...before, ...change };
    setPlace(current.current);
    cancelWrite.current();
    if (move === "replace") {
      cancelWrite.current = after(WRITE_DELAY_MS, write);
      return;
    }
    const isOverlay = current.current.overlay !== undefined &&
      before.overlay === undefined;
    history.pushState({ isOverlay }, "", fragmentOf(current.current));
  };
  const closeOverlay = () => {
    if (history.state?.isOverlay) history.back();
    else go({ overlay: undefined }, "replace");
  };
  return { place, go, closeOverlay };
}
