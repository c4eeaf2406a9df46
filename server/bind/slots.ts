import { type XbindError } from "../../common/errors.ts";
import { unavailable } from "../errors.ts";
import { FairSlots, type SlotRefusal } from "../../common/time/fair_slots.ts";

const RETRY_AFTER_SECONDS = 5;

/** Places for binds, by subject: a bind that waits for the issuer has one for up to 30 s. */
export const bindSlots = (): FairSlots =>
  new FairSlots({
    total: 1_000,
    running: 8,
    waiting: 92,
    refusal: (why) => busy("bind", `too many binds ${ofWhom(why)}are waiting`),
  });

/** Places for pickups, by subject; all that are not known to be good share one key. */
export const pickupSlots = (): FairSlots =>
  new FairSlots({ total: 1_000, running: 8, waiting: 92, refusal: tooManyPickups });

/** Places for applies, by subject: each holds connections to a cluster we know nothing about. */
export const applySlots = (): FairSlots =>
  new FairSlots({
    total: 16,
    running: 4,
    waiting: 0,
    refusal: (why) => busy("apply", `too many applies ${ofWhom(why)}are under way; try again`),
  });

/** A pickup found no place in time; it is not spent. The same for everybody, as it tells nothing. */
export const tooManyPickups = (): XbindError =>
  busy("pick up the bundle", "too many pickups are under way; try again");

const ofWhom = (why: SlotRefusal): string => why === "key" ? "of yours " : "";

const busy = (action: string, reason: string): XbindError =>
  unavailable(action, reason, RETRY_AFTER_SECONDS);
