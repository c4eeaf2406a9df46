const V8_FLAGS = [
  "--max-semi-space-size=4",
  "--heap-growing-percent=10",
  "--no-concurrent-array-buffer-sweeping",
];

/**
 * How backend and konnector run, compiled or as packed scripts: they may never start a process or
 * write a file. `NODE_EXTRA_CA_CERTS` needs `ca` under sys. V8 collects garbage early, which costs
 * up to a fifth of the catalog's rate under full load. Its defaults would let as much garbage pile
 * up as memory is in use, buffers outside its heap included, and keep most of it resident. V8 frees
 * buffers on the thread that reads, because Deno keeps a few dozen 64 KiB buffers for each thread
 * that frees one, and only the reading thread reuses them.
 */
export const DAEMON_RUN_FLAGS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-env",
  "--allow-sys=hostname,ca",
  `--v8-flags=${V8_FLAGS.join()}`,
];

/**
 * The same for packed scripts on Deno itself. A script holds everything it needs. No code cache:
 * writing it would add a tenth to the start.
 */
export const DAEMON_SCRIPT_FLAGS: readonly string[] = [
  "--no-config",
  "--no-lock",
  "--no-remote",
  "--no-npm",
  "--no-code-cache",
  ...DAEMON_RUN_FLAGS,
];

/**
 * Settings that make the C allocator give memory back. Buffers return to the system one by one
 * instead of leaving holes that stay resident. Smaller pieces of all threads share one heap.
 */
export const DAEMON_ENV: Readonly<Record<string, string>> = {
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "4096",
};

/**
 * How the command-line client runs: it reads kubeconfigs, writes its own settings, and starts the
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
