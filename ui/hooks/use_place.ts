import { useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import { fragmentOf, type Place, placeOf } from "../logic/place.ts";
import { after } from "./page.ts";

/** Says whether a move adds an entry to the history or replaces the current one. */
export type Move = "push" | "replace";

/** Holds the current place, and functions to go to another one. */
export interface Places {
  readonly place: Place;
  readonly go: (change: Partial<Place>, move: Move) => void;
  /** Closes the overlay; goes one step back in the history if the overlay added an entry. */
  readonly closeOverlay: () => void;
}

/** Delays writes to the URL while the user types, because browsers limit their rate. */
const WRITE_DELAY_MS = 120;

/** Keeps the place and the URL's fragment in sync. */
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
    if (move === "push") write(); // Back must restore the last typed text
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
