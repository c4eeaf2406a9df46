import { deadline } from "../../common/time/deadline.ts";
import { ExpiringMap } from "../../common/time/expiring_map.ts";
import { untilAborted } from "../../common/time/wait.ts";
import { unavailable } from "../errors.ts";

/**
 * No answer is older than this, counted from when it was asked for. A change of RBAC shows within
 * 10 s: the API server takes a moment to learn of it, and the next review takes another.
 */
const MAX_AGE_MS = 9_000;
/** A failure counts as the answer for this time. */
const FAILED_FOR_MS = 500;

type Answer<T> = { readonly value: T } | { readonly error: unknown };

/** Asks the provider, until the signal says that the answer would be too old. */
export type Ask<T> = (signal: AbortSignal) => Promise<T>;

/** Keeps answers for 9 s, a bounded number of them. Callers who want the same share one request. */
export class Kept<T> {
  readonly #nowMs: () => number;
  readonly #answers: ExpiringMap<Answer<T>>;
  readonly #underway = new Map<string, Promise<Answer<T>>>();

  constructor(maxAnswers: number, nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#answers = new ExpiringMap(maxAnswers, () => new Date(nowMs()));
  }

  /** Returns a fresh answer, or the result of `ask`, which no caller can abort for the others. */
  async get(key: string, ask: Ask<T>, signal?: AbortSignal): Promise<T> {
    const known = this.#answers.get(key);
    const answer = known ?? await untilAborted(this.#ask(key, ask), signal);
    if ("error" in answer) throw answer.error;
    return answer.value;
  }

  #ask(key: string, ask: Ask<T>): Promise<Answer<T>> {
    const shared = this.#underway.get(key) ?? this.#run(key, ask);
    this.#underway.set(key, shared);
    return shared;
  }

  async #run(key: string, ask: Ask<T>): Promise<Answer<T>> {
    const endsAtMs = this.#nowMs() + MAX_AGE_MS;
    using limit = deadline(MAX_AGE_MS, undefined, tooSlow);
    try {
      const answer = { value: await untilAborted(ask(limit.signal), limit.signal) };
      if (this.#nowMs() >= endsAtMs) throw tooSlow();
      this.#answers.set(key, answer, endsAtMs);
      return answer;
    } catch (error) {
      this.#answers.set(key, { error }, this.#nowMs() + FAILED_FOR_MS);
      return { error };
    } finally {
      this.#underway.delete(key);
    }
  }
}

const tooSlow = () => unavailable("check what you may do", "the provider is too slow", 2);
