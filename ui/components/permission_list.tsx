import type { CatalogExport } from "../../common/api/wire.ts";
import { permissionsOf, type Risk, risksOf } from "../logic/permissions.ts";
import { Notice } from "./notice.tsx";

/** Lists the rights of a credential for this Export, and warns of dangerous ones. */
export function PermissionList({ offer }: { offer: CatalogExport }) {
  return (
    <>
      {risksOf(offer).map((risk) => <RiskNotice key={risk} risk={risk} />)}
      <p class="muted">
        On the provider’s cluster, in every namespace, unless the provider limits credentials to
        your own namespace there:
      </p>
      <ul class="permissions" role="list">
        {permissionsOf(offer).map(({ may, what, verbs, which }) => (
          <li key={`${may} ${what}`}>
            <p>
              {may} <code dir="ltr">{what}</code> {which ? <span>({which})</span> : null}
            </p>
            <p class="permission-verbs">{verbs}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

function RiskNotice({ risk }: { risk: Risk }) {
  if (risk === "writes-secrets") {
    return (
      <Notice tone="danger" title="This credential can take over the provider">
        <p>
          It may change every Secret of the provider’s cluster, regardless of the selectors, unless
          the provider limits it to your namespace. Guard it like an administrator’s password.
        </p>
      </Notice>
    );
  }
  if (risk === "writes-configmaps") {
    return (
      <Notice tone="danger" title="This credential can change every ConfigMap of the provider">
        <p>
          Some of them may grant rights or configure the cluster. Selectors limit only the copies,
          unless the provider limits it to your namespace. Guard it like an administrator’s
          password.
        </p>
      </Notice>
    );
  }
  return (
    <Notice tone="warning" title="This credential can read every Secret of the provider">
      <p>
        Selectors limit only the copies, not the rights of the credential, unless the provider
        limits it to your namespace. Keep it safe.
      </p>
    </Notice>
  );
}
