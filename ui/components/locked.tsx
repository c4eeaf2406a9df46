import { LockIcon } from "./icons.tsx";

/** Says, instead of a button, that the user may not bind a service. */
export function Locked({ docs }: { docs: string | undefined }) {
  return (
    <p class="locked">
      <LockIcon />
      <span>
        You may not bind this. Ask its provider for the permission{docs ? ", see the docs" : ""}.
      </span>
    </p>
  );
}
