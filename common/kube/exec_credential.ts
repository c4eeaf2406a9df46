import { Buffer } from "node:buffer";
import path from "node:path";
import type { ExecCredential } from "./credentials.ts";
import { ConfigFileError, type ExecSpec, type KubeTarget, type Source } from "./kube_target.ts";
import { unreadable } from "./load_target.ts";

/**
 * Runs the credential plugin of the user's kubeconfig as kubectl does: prompts go to the terminal,
 * the credential comes from stdout. Only the command-line client may import this.
 */
export async function runExecPlugin(exec: ExecSpec, target: KubeTarget): Promise<ExecCredential> {
  const fault = (text: string, remedy?: string) =>
    new ConfigFileError(
      target.origin,
      `the credential command "${exec.command}" ${text}`,
      [remedy, exec.installHint].filter(Boolean).join("\n\n") || undefined,
    );
  const isTerminal = Deno.stdin.isTerminal();
  if (exec.interactiveMode === "Always" && !isTerminal) {
    throw fault("asks questions, but there is no terminal");
  }
  const interactive = exec.interactiveMode !== "Never" && isTerminal;
  const command = exec.command.includes("/")
    ? path.resolve(exec.baseDir, exec.command)
    : exec.command;
  const info = await execInfo(exec, target, interactive);
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command(command, {
      args: [...exec.args],
      env: {
        ...Object.fromEntries(exec.env.map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
      },
      stdin: interactive ? "inherit" : "null",
      stdout: "piped",
      stderr: "inherit",
    }).output();
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) throw fault("was not found", "install it");
    throw fault(`cannot be started (${(cause as Error).message})`);
  }
  if (!output.success) throw fault(`failed with exit code ${output.code}`);
  const credential = parseExecCredential(new TextDecoder().decode(output.stdout), exec.apiVersion);
  if (typeof credential === "string") throw fault(credential);
  return credential;
}

async function execInfo(
  exec: ExecSpec,
  target: KubeTarget,
  interactive: boolean,
): Promise<unknown> {
  const ca = target.ca && exec.provideClusterInfo ? await readSource(target.ca) : undefined;
  const cluster = {
    server: target.server,
    ...(ca ? { "certificate-authority-data": Buffer.from(ca).toString("base64") } : {}),
    ...(target.insecureSkipTlsVerify ? { "insecure-skip-tls-verify": true } : {}),
    ...(target.tlsServerName ? { "tls-server-name": target.tlsServerName } : {}),
    ...(target.proxyUrl ? { "proxy-url": target.proxyUrl } : {}),
    config: target.execConfig ?? null,
  };
  return {
    apiVersion: exec.apiVersion,
    kind: "ExecCredential",
    spec: { interactive, ...(exec.provideClusterInfo ? { cluster } : {}) },
  };
}

async function readSource(source: Source): Promise<string> {
  if ("data" in source) return source.data;
  return await Deno.readTextFile(source.file).catch((cause) =>
    Promise.reject(unreadable(source.file, cause))
  );
}

/** Parses a plugin's output. Returns a string that names the fault, without quoting the output. */
export function parseExecCredential(text: string, apiVersion: string): ExecCredential | string {
  let printed: unknown;
  try {
    printed = JSON.parse(text);
  } catch {
    return "printed no JSON";
  }
  if (typeof printed !== "object" || printed === null) return "printed no ExecCredential";
  const { kind, apiVersion: printedVersion, status } = printed as Record<string, unknown>;
  if (kind !== "ExecCredential") return "printed no ExecCredential";
  if (printedVersion !== apiVersion) {
    return `answered with another apiVersion than the ${apiVersion} it was asked for`;
  }
  if (typeof status !== "object" || status === null) return "printed no status";
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status as Record<
    string,
    unknown
  >;
  const hasPair = typeof clientCertificateData === "string" && typeof clientKeyData === "string";
  if (typeof token !== "string" && !hasPair) return "printed neither a token nor a certificate";
  const expiresAtMs = typeof expirationTimestamp === "string"
    ? Date.parse(expirationTimestamp)
    : NaN;
  return {
    ...(typeof token === "string" ? { token } : {}),
    ...(hasPair ? { cert: clientCertificateData, key: clientKeyData } : {}),
    ...(Number.isNaN(expiresAtMs) ? {} : { expiresAtMs }),
  };
}
