import { type XbindError } from "../../common/errors.ts";
import { unavailable } from "../errors.ts";
import { type SlotRefusal, Slots } from "../../common/time/slots.ts";

const RETRY_AFTER_SECONDS = 5;

/** Slots for binds, by subject: a bind that waits for the issuer holds one for up to 30 s. */
export const bindSlots = (): Slots =>
  new Slots(8, {
    waiting: 92,
    total: 1_000,
    refusal: (why) => busy("bind", `too many binds ${ofWhom(why)}are waiting`),
  });

/** Slots for pickups, by subject; all tokens that are not known to be good share one key. */
export const pickupSlots = (): Slots =>
  new Slots(8, { waiting: 92, total: 1_000, refusal: tooManyPickups });

/** Slots for applies, by subject: each apply holds connections to a cluster that may be slow. */
export const applySlots = (): Slots =>
  new Slots(4, {
    waiting: 0,
    total: 16,
    refusal: (why) => busy("apply", `too many applies ${ofWhom(why)}are under way; try again`),
  });

/** A pickup got no slot in time, and is not spent; the same words for all, as they tell nothing. */
export const tooManyPickups = (): XbindError =>
  busy("pick up the bundle", "too many pickups are under way; try again");

const ofWhom = (why: SlotRefusal): string => why === "key" ? "of yours " : "";

const busy = (action: string, reason: string): XbindError =>
  unavailable(action, reason, RETRY_AFTER_SECONDS);
