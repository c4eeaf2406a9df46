/** A kubeconfig or credential file that cannot be used: names the file, the fault and the remedy. */
export class ConfigFileError extends Error {
  override readonly name = "ConfigFileError";
  readonly file: string;
  readonly fault: string;
  readonly remedy: string | undefined;

  constructor(file: string, fault: string, remedy?: string) {
    super(`Cannot use ${file}: ${fault}${remedy ? `; ${remedy}` : ""}`);
    this.file = file;
    this.fault = fault;
    this.remedy = remedy;
  }
}
