/**
 * Seeds the randomness of TLS on another thread. Its first use gathers entropy for about 30 ms,
 * which would block the first connection.
 */
export function seedRandomness(): void {
  const key = crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  key.catch(() => {}); // the first use of randomness reports this fault
}
