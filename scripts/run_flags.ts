const V8_FLAGS = [
  "--max-semi-space-size=4",
  "--heap-growing-percent=10",
  "--no-concurrent-array-buffer-sweeping",
];

/**
 * How the backend is run, compiled or from its bundle: it may never start a process or write a
 * file. `ca` under sys is what `NODE_EXTRA_CA_CERTS` needs. V8 collects early, at the price of up to
 * a fifth of the catalog's rate under full load: by itself it would let garbage of as much memory
 * as is in use pile up, buffers outside of its heap included, and keep most of that resident. It
 * frees buffers on the thread that reads: Deno keeps some dozens of them, 64 KiB each, for every
 * thread that frees any, and only the one that reads takes them again.
 */
export const BACKEND_RUN_FLAGS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-env",
  "--allow-sys=hostname,ca",
  `--v8-flags=${V8_FLAGS.join()}`,
];

/**
 * The same for the bundle on Deno itself. All that it needs is in there, and nothing is kept for
 * the next start: to write what was compiled would be a tenth of this one.
 */
export const BACKEND_BUNDLE_FLAGS: readonly string[] = [
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--no-npm",
  "--no-code-cache",
  ...BACKEND_RUN_FLAGS,
];

/**
 * How the allocator beneath V8 is told to give memory back: buffers, of connections and of what
 * they carry, return to the system one by one, instead of leaving holes that stay resident; and
 * what is smaller than a page shares one heap, whichever thread asks for it.
 */
export const BACKEND_ENV: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "4096",
};

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
