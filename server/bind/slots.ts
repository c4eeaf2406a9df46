import { type XbindError } from "../../common/errors.ts";
import { unavailable } from "../errors.ts";
import { type SlotRefusal, Slots } from "../../common/time/slots.ts";

const RETRY_AFTER_SECONDS = 5;

/** Makes the slots for binds, by subject. A bind holds one while the issuer works, up to 30 s. */
export const bindSlots = (): Slots =>
  new Slots(8, {
    waiting: 92,
    total: 1_000,
    refusal: (why) => busy("bind", `too many binds ${ofWhom(why)}are waiting`),
  });

/** Makes the slots for pickups, by subject; all tokens without a known subject share one key. */
export const pickupSlots = (): Slots =>
  new Slots(8, { waiting: 92, total: 1_000, refusal: tooManyPickups });

/** Makes the slots for applies, by subject. Each apply waits for a cluster that may be slow. */
export const applySlots = (): Slots =>
  new Slots(4, {
    waiting: 0,
    total: 16,
    refusal: (why) => busy("apply", `too many applies ${ofWhom(why)}are under way; try again`),
  });

/** Refuses a pickup without spending it; the message is the same for all, so it reveals nothing. */
export const tooManyPickups = (): XbindError =>
  busy("pick up the bundle", "too many pickups are under way; try again");

const ofWhom = (why: SlotRefusal): string => why === "key" ? "of yours " : "";

const busy = (action: string, reason: string): XbindError =>
  unavailable(action, reason, RETRY_AFTER_SECONDS);
