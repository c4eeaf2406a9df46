/**
 * How the backend is run, compiled or from its bundle: it may never start a process or write a
 * file. `ca` under sys is what `NODE_EXTRA_CA_CERTS` needs. The young generation of V8 is capped,
 * because reading large lists would otherwise keep tens of megabytes of garbage resident.
 */
export const BACKEND_RUN_FLAGS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-env",
  "--allow-sys=hostname,ca",
  "--v8-flags=--max-semi-space-size=4",
];

/**
 * How the command-line client is run: it reads kubeconfigs, writes its own settings, and starts the
 * browser and the credential plugins that the user's kubeconfig names.
 */
export const CLI_RUN_FLAGS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys=hostname,ca",
  "--allow-run",
];
