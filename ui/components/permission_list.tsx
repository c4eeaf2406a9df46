import type { CatalogExport } from "../../server/api/wire.ts";
import { permissionsOf, secretRiskOf } from "../logic/permissions.ts";
import { Notice } from "./notice.tsx";

/** What a credential for this Export may do on the provider, with a warning where it is much. */
export function PermissionList({ offer }: { offer: CatalogExport }) {
  return (
    <>
      <SecretWarning offer={offer} />
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

function SecretWarning({ offer }: { offer: CatalogExport }) {
  const risk = secretRiskOf(offer);
  if (risk === "none") return null;
  return risk === "writes-secrets"
    ? (
      <Notice tone="danger" title="This credential can take the provider over">
        <p>
          It may change every Secret of the provider’s cluster, whatever the selectors say, unless
          the provider limits it to your namespace. Guard it like an administrator’s password.
        </p>
      </Notice>
    )
    : (
      <Notice tone="warning" title="This credential can read every Secret of the provider">
        <p>
          Selectors decide only what is copied, not what the credential may read, unless the
          provider limits it to your namespace. Keep it safe.
        </p>
      </Notice>
    );
}
