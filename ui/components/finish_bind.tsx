import { useState } from "hono/jsx/dom";
import type { BindResult, CatalogExport } from "../../common/api/wire.ts";
import { useNow } from "../hooks/use_now.ts";
import { commands } from "../logic/commands.ts";
import { remainingTime } from "../logic/relative_time.ts";
import type { BindActions } from "./bind_actions.ts";
import { CopyField } from "./copy_field.tsx";
import { DownloadBundle, type PickupUse } from "./download_bundle.tsx";
import { KubeconfigForm } from "./kubeconfig_form.tsx";
import { KonnectorHint } from "./konnector_hint.tsx";
import { Notice } from "./notice.tsx";
import { PermissionList } from "./permission_list.tsx";
import { StepHeading } from "./step_heading.tsx";
import { type Tab, Tabs } from "./tabs.tsx";

/** Shows the ways to bring a new credential into a cluster, and the state of its pickup. */
export function FinishBind(
  { offer, origin, result, actions, onBindAgain, onChanged, onClose }: {
    offer: CatalogExport;
    origin: string;
    result: BindResult;
    actions: BindActions;
    onBindAgain: () => void;
    onChanged: () => void;
    onClose: () => void;
  },
) {
  const [use, setUse] = useState<PickupUse>({ kind: "unused" });
  const leftMs = Date.parse(result.expiresAt) - useNow(1_000);
  const isOpen = use.kind === "unused" && leftMs > 0;
  const tabs: Tab[] = [
    {
      key: "download",
      label: "Download",
      content: (
        <>
          <DownloadBundle
            result={result}
            isOpen={isOpen}
            use={use}
            onPickUp={actions.onPickUp}
            onUse={setUse}
          />
          <KonnectorHint origin={origin} />
        </>
      ),
    },
    {
      key: "command",
      label: "Command",
      content: <CommandWay offer={offer} origin={origin} result={result} isOpen={isOpen} />,
    },
  ];
  if (actions.onApply) {
    tabs.push({
      key: "apply",
      label: "Apply",
      content: (
        <KubeconfigForm exportName={offer.name} onApply={actions.onApply} onApplied={onChanged} />
      ),
    });
  }
  return (
    <section>
      <StepHeading>Your credential is ready</StepHeading>
      <PickupState leftMs={leftMs} use={use} onBindAgain={onBindAgain} />
      <Tabs label="Ways to finish" tabs={tabs} />
      <details class="more">
        <summary>What this credential is allowed to do</summary>
        <PermissionList offer={offer} />
      </details>
      <div class="actions actions-end">
        <button type="button" class="button" onClick={onClose}>Done</button>
      </div>
    </section>
  );
}

/** Shows how long the pickup is valid, or why it no longer is. */
function PickupState(
  { leftMs, use, onBindAgain }: { leftMs: number; use: PickupUse; onBindAgain: () => void },
) {
  if (use.kind === "unused" && leftMs > 0) {
    return (
      <p class="countdown">
        Pick it up within{" "}
        <span role="timer" class="timer">{remainingTime(leftMs)}</span>. The pickup works once, by
        download or by command.
      </p>
    );
  }
  const isUsed = use.kind !== "unused";
  return (
    <Notice
      tone={isUsed ? "info" : "warning"}
      role="status"
      title={isUsed ? "The pickup is used" : "The pickup has expired"}
    >
      <p>
        Bind again to get a new one. Your Grant and its credential stay the same.
      </p>
      <button type="button" class="button" onClick={onBindAgain}>
        Bind again
      </button>
    </Notice>
  );
}

function CommandWay(
  { offer, origin, result, isOpen }: {
    offer: CatalogExport;
    origin: string;
    result: BindResult;
    isOpen: boolean;
  },
) {
  return (
    <>
      <p>With the kubectl plugin, in the context of your cluster:</p>
      <CopyField label="the kubectl command" text={commands.bindExport(origin, offer.name)} />
      <p class="muted small">
        This command also binds and installs the konnector. On a new machine, sign in first:{" "}
        <code dir="ltr">{commands.login(origin)}</code>
      </p>
      <p>Or without the plugin. This command contains a secret and works once:</p>
      {isOpen
        ? (
          <CopyField
            label="the curl command"
            text={commands.applyPickup(origin, result.pickupURL)}
          />
        )
        : <p class="muted">The pickup is used or has expired: bind again for a new command.</p>}
      <KonnectorHint origin={origin} />
    </>
  );
}
