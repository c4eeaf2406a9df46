import { ConfigError } from "./config_error.ts";
import { pemCertificates } from "../http/pem_certificates.ts";

const MAX_BYTES = 1024 * 1024;

/**
 * Reads the certificates in the file that a flag names. Leaves everything else out, such as a
 * private key in the same file. Throws one ConfigError that names the flag and the file.
 */
export const readPemFile = async (flag: string, path: string): Promise<string> => {
  const bad = (problem: string) =>
    new ConfigError([`--${flag}: cannot use ${JSON.stringify(path)}: ${problem}`]);
  let text: string;
  try {
    // Check this first: reading a device or a pipe may never end.
    const { isDirectory, isFile, size } = await Deno.stat(path);
    if (isDirectory) throw bad("it is a directory, name a file in it");
    if (!isFile) throw bad("it is not a regular file");
    if (size > MAX_BYTES) throw bad("it is over 1 MiB, too large for a CA bundle");
    text = await Deno.readTextFile(path);
  } catch (error) {
    throw error instanceof ConfigError ? error : bad(readProblem(error));
  }
  const { blocks, parsed, damaged } = pemCertificates(text);
  const count = parsed.length + damaged.length;
  if (count === 0) throw bad("it holds no PEM certificate (-----BEGIN CERTIFICATE-----)");
  if (damaged.length > 0) throw bad(`certificate ${damaged[0]} of ${count} is damaged`);
  return `${blocks.join("\n")}\n`;
};

const readProblem = (error: unknown): string => {
  if (error instanceof Deno.errors.NotFound) return "it does not exist";
  if (error instanceof Deno.errors.PermissionDenied) return "this user may not read it";
  if (error instanceof Deno.errors.NotCapable) return "this process may not read it (--allow-read)";
  return `reading it failed${error instanceof Error ? ` (${error.message})` : ""}`;
};
