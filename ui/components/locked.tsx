import { LockIcon } from "./icons.tsx";

/** Says, instead of a button, that the user may not bind a service, and what to ask for. */
export function Locked(
  { name, title, user, docs }: {
    name: string;
    title: string;
    /** The name by which the provider's RBAC knows the user, if it is to be shown. */
    user?: string | undefined;
    docs: string | undefined;
  },
) {
  return (
    <p class="locked">
      <LockIcon />
      <span>
        You may not bind this. Ask its provider for the verb <code>bind</code> on{" "}
        <code dir="ltr">exports.catalog.xbind.io/{name}</code>
        {user === undefined ? null : (
          <>
            {" "}for <code dir="ltr">{user}</code>
          </>
        )}.
        {docs === undefined ? null : (
          <>
            {" "}
            <a
              href={docs}
              target="_blank"
              rel="noopener noreferrer"
              aria-label={`See its docs: ${title}`}
            >
              See its docs
            </a>
          </>
        )}
      </span>
    </p>
  );
}
