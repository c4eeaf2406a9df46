/** Sends these bytes, and returns the answer once the server closes the connection. */
export async function rawExchange(url: string, request: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const octets = typeof request === "string" ? new TextEncoder().encode(request) : request;
  const decoder = new TextDecoder();
  let said = "";
  const reading = (async () => {
    for await (const part of connection.readable) said += decoder.decode(part, { stream: true });
  })().catch(unlessClosed);
  await send(connection, octets);
  await reading;
  return said;
}

/** Returns the status of a raw answer. */
export const statusOf = (answer: string): number =>
  Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1] ?? 0);

async function send(connection: Deno.Conn, octets: Uint8Array): Promise<void> {
  try {
    for (let sent = 0; sent < octets.length;) sent += await connection.write(octets.subarray(sent));
  } catch (error) {
    unlessClosed(error); // a server may refuse a request before reading all of it
  }
}

function unlessClosed(error: unknown): void {
  const isClosed = error instanceof Deno.errors.ConnectionReset ||
    error instanceof Deno.errors.BrokenPipe;
  if (!isClosed) throw error;
}
