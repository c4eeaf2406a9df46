import { IAM_API_VERSION } from "../../common/api/groups.ts";
import type { Export, Grant, RelatedResource } from "../../common/api/resources.ts";
import { invalidRequest } from "../errors.ts";
import { grantName } from "../../common/api/names.ts";
import type { Identity } from "../../common/api/wire.ts";

const MAX_TEXT_LENGTH = 2048;
const MAX_GROUPS = 1000;
/** Far below what the API server's store takes for one object. */
const MAX_GROUPS_LENGTH = 128 * 1024;

/** The Grant that this identity should have of this Export, as the Export is now. */
export const grantFor = (identity: Identity, { metadata, spec }: Export): Grant => {
  const { conflictPolicy, relatedResources = [] } = spec.defaults ?? {};
  return {
    apiVersion: IAM_API_VERSION,
    kind: "Grant",
    metadata: { name: grantName(metadata.name, identity.subject) },
    spec: {
      identity: identityOf(identity),
      exportName: metadata.name,
      apis: spec.apis.map(({ name }) => ({ name })),
      ...(conflictPolicy ? { conflictPolicy } : {}),
      ...(relatedResources.length > 0 ? { relatedResources: relatedResources.map(rule) } : {}),
    },
  };
};

/** With the default that the API server would fill in, so that a stored Grant compares equal. */
const rule = (related: RelatedResource): RelatedResource => ({ ...related, group: "" });

function identityOf({ subject, displayName = "", groups = [] }: Identity): Identity {
  // Other text would be stored as other text, and two subjects could become one.
  if (subject === "" || subject.length > MAX_TEXT_LENGTH || !subject.isWellFormed()) {
    throw invalidRequest(
      `Cannot bind: the subject is empty, broken or over ${MAX_TEXT_LENGTH} characters`,
    );
  }
  const name = displayName.slice(0, MAX_TEXT_LENGTH).toWellFormed();
  const kept = keptGroups(groups);
  return {
    subject,
    ...(name ? { displayName: name } : {}),
    ...(kept.length > 0 ? { groups: kept } : {}),
  };
}

/** Groups are for information only: those that do not fit are left out, none is cut short. */
function keptGroups(groups: readonly string[]): string[] {
  const kept: string[] = [];
  let length = 0;
  for (const group of groups) {
    if (group.length > MAX_TEXT_LENGTH) continue;
    length += group.length;
    if (kept.length === MAX_GROUPS || length > MAX_GROUPS_LENGTH) break;
    kept.push(group.toWellFormed());
  }
  return kept;
}
