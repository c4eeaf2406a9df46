import { commands } from "../logic/commands.ts";
import { CopyField } from "./copy_field.tsx";

/** Shows how to install the konnector in a cluster that has none. */
export function KonnectorHint({ origin }: { origin: string }) {
  return (
    <details class="more">
      <summary>No konnector in the cluster yet?</summary>
      <p>The bundle needs it. Install it once, before you apply:</p>
      <CopyField label="the konnector command" text={commands.installKonnector(origin)} />
    </details>
  );
}
