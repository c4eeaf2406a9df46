import { Hidden } from "../hidden.ts";
import { formatDuration } from "../time/duration.ts";
import { configKey, type FlagTable } from "./flag_kinds.ts";

/** Returns the settings that differ from their defaults, as text by flag name, without secrets. */
export const describeConfig = (
  flags: FlagTable,
  config: object,
): Readonly<Record<string, string>> => {
  const values = new Map<string, unknown>(Object.entries(config));
  return Object.fromEntries(
    Object.entries(flags).flatMap(([name, flag]) => {
      const byDefault = flag.parse(flag.defaultText);
      const defaultText = "value" in byDefault ? settingText(byDefault.value, flag.unit) : "";
      const actual = settingText(values.get(configKey(name, flag)), flag.unit);
      return actual === defaultText ? [] : [[name, actual]];
    }),
  );
};

const settingText = (value: unknown, unit: string): string => {
  if (value === undefined) return "";
  if (value instanceof Hidden) return "[set]";
  if (typeof value === "number" && unit === "Ms") return formatDuration(value);
  return String(value); // a list joins its items with commas
};
