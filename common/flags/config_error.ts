/** All problems of a configuration. The process ends with exit code 2. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    const count = problems.length === 1 ? "one problem" : `${problems.length} problems`;
    super([
      `Cannot start: ${count} in the configuration`,
      ...problems.map((problem) => `  ${problem}`),
    ].join("\n"));
    this.problems = problems;
  }
}
