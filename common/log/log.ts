import { logJson, logText } from "./log_value.ts";
import { stderrLines } from "./stderr_lines.ts";

/** The fields of a record. They never hold credentials. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes structured records. Messages are constant; values that vary are fields. */
export interface Log {
  /** Writes details for debugging, like `verbose(1, …)`. */
  debug(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  /** Reports something that works, but that an operator should look at. */
  warn(msg: string, fields?: LogFields): void;
  /** Reports a failure that is not thrown any further; the field `error` has the thrown value. */
  error(msg: string, fields?: LogFields): void;
  /** Writes details only if `--zap-log-level` is a number of at least `verbosity`. */
  verbose(verbosity: number, msg: string, fields?: LogFields): void;
  /** Returns a log whose records also have these fields. */
  with(fields: LogFields): Log;
  /** Returns a log for one part of the program; nested names are joined by dots. */
  named(name: string): Log;
}

/** The format of `ts`; all but the first three are text in UTC. */
export type TimeEncoding = "epoch" | "millis" | "nano" | "iso8601" | "rfc3339" | "rfc3339nano";

/** The settings of the logging flags. */
export interface LogSettings {
  readonly encoder: "json" | "console";
  /** The least severe records written: a number is a verbosity, 1 meaning debug. */
  readonly level: "error" | "info" | "debug" | number;
  /** Records at least this severe show the stack of their error; `panic` switches stacks off. */
  readonly stacktraceLevel: "info" | "warn" | "error" | "panic";
  readonly timeEncoding: TimeEncoding;
}

/** What `createLogger` works with; only the settings are required. */
export interface LoggerOptions extends LogSettings {
  /** Takes one record, without a line end, and must not throw; stderr unless given. */
  readonly write?: (line: string) => void;
  readonly now?: () => Date;
}

interface Scope {
  readonly name: string;
  readonly fields: LogFields;
}

const SEVERITY = { debug: -1, info: 0, warn: 1, error: 2, panic: 3 } as const;
const RESERVED = new Set(["level", "ts", "logger", "msg", "stacktrace"]);
const MAX_STACKS = 5;

/** Creates a log in zap's format: one line per record, whatever messages and fields hold. */
export const createLogger = (options: LoggerOptions): Log => {
  const { write = stderrLines(), now = () => new Date() } = options;
  const threshold = typeof options.level === "number" ? -options.level : SEVERITY[options.level];
  const encode = options.encoder === "json" ? jsonRecord : consoleRecord;

  const build = (scope: Scope): Log => {
    const record = (severity: number, msg: string, fields: LogFields = {}) => {
      if (severity < threshold) return;
      const withStack = severity >= SEVERITY[options.stacktraceLevel];
      write(encode({
        level: levelName(severity),
        ts: timestamp(now(), options.timeEncoding),
        logger: scope.name,
        msg,
        fields: encodedFields([scope.fields, fields], withStack),
      }));
    };
    return {
      debug: (msg, fields) => record(SEVERITY.debug, msg, fields),
      info: (msg, fields) => record(SEVERITY.info, msg, fields),
      warn: (msg, fields) => record(SEVERITY.warn, msg, fields),
      error: (msg, fields) => record(SEVERITY.error, msg, fields),
      verbose: (verbosity, msg, fields) => record(-verbosity, msg, fields),
      with: (fields) => build({ ...scope, fields: { ...scope.fields, ...fields } }),
      named: (name) => build({ ...scope, name: scope.name ? `${scope.name}.${name}` : name }),
    };
  };
  return build({ name: "", fields: {} });
};

interface LogRecord {
  readonly level: string;
  /** A JSON number or a JSON string. */
  readonly ts: string;
  readonly logger: string;
  readonly msg: string;
  /** `"key":value` pairs in the order they were given. */
  readonly fields: readonly string[];
}

const jsonRecord = ({ level, ts, logger, msg, fields }: LogRecord): string => {
  const name = logger ? [`"logger":${logJson(logger)}`] : [];
  const head = [`"level":"${level}"`, `"ts":${ts}`, ...name, `"msg":${logJson(msg)}`];
  return `{${[...head, ...fields].join(",")}}`;
};

const consoleRecord = ({ level, ts, logger, msg, fields }: LogRecord): string =>
  [
    ts.replaceAll('"', ""),
    level.toUpperCase(),
    ...(logger ? [logText(logger)] : []),
    logText(msg),
    ...(fields.length > 0 ? [`{${fields.join(", ")}}`] : []),
  ].join("\t");

const encodedFields = (given: readonly LogFields[], withStack: boolean): string[] => {
  try {
    const fields: LogFields = Object.assign({}, ...given);
    // A field cannot pretend to be the record's own level, time or message.
    const pairs = Object.entries(fields)
      .map(([key, value]) => [RESERVED.has(key) ? `${key}_` : key, value]);
    if (withStack) pairs.push(["stacktrace", stackOf(fields.error)]);
    return pairs.flatMap(([key, value]) => {
      const json = logJson(value);
      return json === undefined ? [] : [`${logJson(key)}:${json}`];
    });
  } catch {
    return ['"fields":"[unreadable]"']; // a getter threw: the message still gets out
  }
};

const levelName = (severity: number): string => {
  if (severity >= SEVERITY.error) return "error";
  if (severity >= SEVERITY.warn) return "warn";
  if (severity >= SEVERITY.info) return "info";
  return severity === SEVERITY.debug ? "debug" : `Level(${severity})`;
};

const stackOf = (error: unknown): string | undefined => {
  const stacks: string[] = [];
  for (let each = error; each instanceof Error && stacks.length < MAX_STACKS; each = each.cause) {
    stacks.push(String(each.stack));
  }
  return stacks.length > 0 ? stacks.join("\ncaused by ") : undefined;
};

const timestamp = (now: Date, encoding: TimeEncoding): string => {
  const ms = now.getTime();
  const iso = now.toISOString();
  switch (encoding) {
    case "epoch":
      return String(ms / 1000);
    case "millis":
      return String(ms);
    case "nano":
      return `${ms}000000`;
    case "iso8601":
      return `"${iso}"`;
    case "rfc3339":
      return `"${iso.replace(/\.\d+Z$/, "Z")}"`;
    case "rfc3339nano":
      return `"${iso.replace(/\.?0*Z$/, "Z")}"`;
  }
};
