import { parse } from "yaml";

/** One row of the chart's table of flags: the value that sets a flag, and how. */
export interface ChartFlag {
  readonly flag: string;
  /** The path of a value that becomes the flag. */
  readonly value?: string;
  /** The path of the name of a Secret that becomes an environment variable. */
  readonly secret?: string;
  /** The path of the key in that Secret. */
  readonly key?: string;
  /** The path of a value that names a ConfigMap or Secret to mount. */
  readonly file?: string;
  /** The module that must be enabled for the flag to be set. */
  readonly of?: string;
}

const TABLE = /\{\{- define "xbind-backend\.flags" -\}\}\n([^]*?)\n\{\{- end -\}\}/;

/** The rows of the table in `templates/_flags.tpl`. */
export const chartFlags = (template: string): readonly ChartFlag[] => {
  const [, table] = TABLE.exec(template) ?? [];
  if (!table) throw new Error('Cannot read the chart\'s flags: "xbind-backend.flags" is not there');
  return parse(table);
};

/** Whether a value takes part in setting a flag. */
export const sets = ({ value, secret, key, file }: ChartFlag, path: string): boolean =>
  [value, secret, key].includes(path) || (file !== undefined && path.startsWith(`${file}.`));
