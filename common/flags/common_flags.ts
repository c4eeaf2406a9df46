import type { LogSettings } from "../log/log.ts";
import { type ConfigOf, flag, oneOf, text } from "./flag_kinds.ts";
import { dnsSubdomain, file, listenAddressOrOff, logLevel } from "./flag_values.ts";

/** What differs between the manager flags of two programs. */
export interface ManagerDefaults {
  /** The program's own cluster, such as `provider`. */
  readonly cluster: string;
  readonly metricsAddress: string;
  readonly probeAddress: string;
  /** When metrics and probes are served, as the end of their sentence; empty means always. */
  readonly servedIf: string;
  /** What runs in only one replica, such as `the issuer and the reaper`. */
  readonly led: string;
  readonly leaseName: string;
}

/** Builds the flags about a program's own cluster, metrics, probes and leader election. */
export const managerFlags = (
  { cluster, metricsAddress, probeAddress, servedIf, led, leaseName }: ManagerDefaults,
) => ({
  "kubeconfig": text(
    "",
    `Kubeconfig of the ${cluster} cluster; empty means KUBECONFIG, then the in-cluster account, then ~/.kube/config`,
    file,
  ),
  "metrics-bind-address": text(
    metricsAddress,
    `Address of /metrics${servedIf}; 0 turns it off`,
    listenAddressOrOff,
  ),
  "health-probe-bind-address": text(
    probeAddress,
    `Address of /healthz and /readyz${servedIf}; 0 turns it off`,
    listenAddressOrOff,
  ),
  "leader-elect": flag(false, `Run ${led} in only one replica at a time`),
  "leader-election-id": text(leaseName, "Name of the leader-election Lease", dnsSubdomain),
} as const);

/** The flags of the log, the same for every program. */
export const LOGGING_FLAGS = {
  "zap-devel": flag(
    false,
    "Development logging: console encoder, level debug, stack traces from level warn",
  ),
  "zap-encoder": oneOf(
    ["", "json", "console"],
    "Format of log lines; empty means json, or console with --zap-devel",
  ),
  "zap-log-level": text(
    "",
    "Lowest level to log: debug, info, error, or a number (1 is debug); empty means info, or debug with --zap-devel",
    logLevel,
  ),
  "zap-stacktrace-level": oneOf(
    ["", "info", "warn", "error", "panic"],
    "Lowest level whose lines show the stack of their error; panic shows none; empty means error, or warn with --zap-devel",
  ),
  "zap-time-encoding": oneOf(
    ["iso8601", "epoch", "millis", "nano", "rfc3339", "rfc3339nano"],
    "Format of times in log lines, in UTC",
  ),
} as const;

/** The settings of the logging flags. */
export type LoggingConfig = ConfigOf<typeof LOGGING_FLAGS>;

/** Builds the settings of the log from the logging flags. */
export const logSettings = (config: LoggingConfig): LogSettings => ({
  encoder: config.zapEncoder || (config.zapDevel ? "console" : "json"),
  level: logLevelOf(config.zapLogLevel) ?? (config.zapDevel ? "debug" : "info"),
  stacktraceLevel: config.zapStacktraceLevel || (config.zapDevel ? "warn" : "error"),
  timeEncoding: config.zapTimeEncoding,
});

const logLevelOf = (text: string): LogSettings["level"] | undefined => {
  if (text === "debug" || text === "info" || text === "error") return text;
  return text === "" ? undefined : Number(text);
};
