/**
 * Makes the randomness of TLS ready on another thread. Its first use gathers entropy for some
 * 30 ms, which the first connection would spend on this one.
 */
export function seedRandomness(): void {
  const key = crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  key.catch(() => {}); // what needs randomness tells of that itself
}
