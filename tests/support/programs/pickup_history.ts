/** A bind that was answered; times are in milliseconds since 1970. */
export interface BindRecord {
  readonly grant: string;
  readonly token: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly expiresAt: number;
}

/** A pickup that delivered a bundle. */
export interface DeliveryRecord {
  readonly token: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** What callers saw of binds and pickups, in no particular order. */
export interface PickupHistory {
  readonly binds: readonly BindRecord[];
  readonly deliveries: readonly DeliveryRecord[];
}

/**
 * What cannot have happened if pickups work once, until they expire or a newer bind ends them. An
 * answer tells that something happened between question and answer, so only what began after
 * another answer is known to come later.
 */
export function impossibilities({ binds, deliveries }: PickupHistory): string[] {
  const found: string[] = [];
  const bindOf = new Map(binds.map((bind) => [bind.token, bind]));
  const delivered = new Set<string>();
  for (const { token, startedAt } of deliveries) {
    if (delivered.has(token)) found.push(`${token} was delivered twice`);
    delivered.add(token);
    const bind = bindOf.get(token);
    if (!bind) {
      found.push(`${token} was delivered, but never issued`);
      continue;
    }
    if (startedAt > bind.expiresAt) found.push(`${token} was delivered after it had expired`);
    const newer = binds.find((other) =>
      other.grant === bind.grant && other.startedAt > bind.endedAt && other.endedAt < startedAt
    );
    if (newer) found.push(`${token} was delivered after ${newer.token} had replaced it`);
  }
  return found;
}
