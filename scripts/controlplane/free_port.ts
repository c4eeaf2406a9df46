/** Below the port ranges of outgoing connections on Linux and macOS. */
const FIRST = 20_000;
const LAST = 32_000;

const isFree = (port: number): boolean => {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch {
    return false;
  }
};

/**
 * Finds a free loopback port that no outgoing connection takes while its owner restarts. Another
 * process may still take it first, so callers must retry.
 */
export const freePort = (): number => {
  for (let tries = 0; tries < 1_000; tries++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (isFree(port)) return port;
  }
  throw new Error(`Cannot find a free port between ${FIRST} and ${LAST}`);
};
