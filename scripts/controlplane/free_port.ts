/** Below the ranges from which Linux and macOS give ports to outgoing connections. */
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
 * A loopback port nobody listens on, and which no outgoing connection will take while its owner
 * restarts. Somebody may still be faster: the caller must be ready to ask again.
 */
export const freePort = (): number => {
  for (let tries = 0; tries < 1_000; tries++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST));
    if (isFree(port)) return port;
  }
  throw new Error(`Cannot find a free port between ${FIRST} and ${LAST}`);
};
