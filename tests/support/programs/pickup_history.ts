/** A bind that was answered. Times are in milliseconds since 1970. */
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

/** All answered binds and pickups, in any order. */
export interface PickupHistory {
  readonly binds: readonly BindRecord[];
  readonly deliveries: readonly DeliveryRecord[];
}

/**
 * Lists violations of the rule that a pickup works once, until it expires or a newer bind replaces
 * it. A call takes effect between its request and its answer, so a call counts as later only if it
 * began after the other was answered.
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
