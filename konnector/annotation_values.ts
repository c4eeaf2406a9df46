import { ANNOTATIONS } from "../common/api/names.ts";

const YES_OR_NO = ["true", "false"];

/** The values that each annotation may have. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  [ANNOTATIONS.deletionPolicy]: ["Orphan", "Delete"],
  [ANNOTATIONS.paused]: YES_OR_NO,
  [ANNOTATIONS.keepCrd]: YES_OR_NO,
  [ANNOTATIONS.replace]: YES_OR_NO,
  [ANNOTATIONS.syncPolicy]: ["CreateOnly"],
};

/** Says why the value of an annotation is invalid; undefined if it is valid. */
export function wrongValue(
  annotations: Readonly<Record<string, string>> | undefined,
  name: string,
): string | undefined {
  const { [name]: value } = annotations ?? {};
  const { [name]: values = [] } = VALUES;
  if (value === undefined || values.includes(value)) return undefined;
  const [only, other] = values;
  return other === undefined ? `its only value is ${only}` : `it is neither ${only} nor ${other}`;
}
