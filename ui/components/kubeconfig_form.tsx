import { useId, useLayoutEffect, useRef, useState } from "hono/jsx/dom";
import type { ApplyRequest, ApplyResult } from "../../common/api/wire.ts";
import { ApiError } from "../api.ts";
import { textToBase64 } from "../logic/base64.ts";
import { peekKubeconfig } from "../logic/kubeconfig_peek.ts";
import { Applied, Applying, NotApplied } from "./apply_outcome.tsx";
import { Notice } from "./notice.tsx";

/** Sends a kubeconfig to the gateway, which applies objects to that cluster. */
export type Apply = (request: ApplyRequest, signal: AbortSignal) => Promise<ApplyResult>;

type Phase =
  | { readonly kind: "filling" }
  | { readonly kind: "sending" }
  | { readonly kind: "failed"; readonly message: string; readonly isPartial: boolean }
  | { readonly kind: "done"; readonly applied: readonly string[]; readonly context: string };

const MAX_BYTES = 256 * 1024;

/** Reads a kubeconfig from a file or a paste, shows its server, and applies objects with it. */
export function KubeconfigForm(
  { exportName, onApply, onApplied }: {
    /** Without it, only the konnector is installed. */
    exportName?: string;
    onApply: Apply;
    onApplied?: () => void;
  },
) {
  const id = useId();
  const [text, setText] = useState("");
  const [isInstalling, setIsInstalling] = useState(true);
  const [phase, setPhase] = useState<Phase>({ kind: "filling" });
  const area = useRef<HTMLTextAreaElement | null>(null);
  const abort = useRef<AbortController | null>(null);
  useLayoutEffect(() => () => abort.current?.abort(), []);
  const peek = peekKubeconfig(text);

  const fill = (value: string) => {
    setText(value);
    if (area.current && area.current.value !== value) area.current.value = value;
    if (phase.kind !== "sending") setPhase({ kind: "filling" });
  };
  const choose = async (event: Event) => {
    const input = event.target as HTMLInputElement;
    const file = input.files?.[0];
    if (!file) return;
    if (file.size > MAX_BYTES) {
      fill("");
      setPhase({ kind: "failed", message: "This file is too large", isPartial: false });
    } else fill(await file.text());
  };
  const send = async (event: Event) => {
    event.preventDefault();
    if (text.trim() === "" || phase.kind === "sending") return;
    setPhase({ kind: "sending" });
    abort.current = new AbortController();
    try {
      const { applied } = await onApply({
        kubeconfig: textToBase64(text),
        installKonnector: exportName === undefined || isInstalling,
        ...(exportName === undefined ? {} : { export: exportName }),
      }, abort.current.signal);
      fill("");
      setPhase({ kind: "done", applied, context: peek?.context ?? "" });
      onApplied?.();
    } catch (error) {
      if (abort.current?.signal.aborted) return;
      const message = error instanceof Error ? error.message : String(error);
      const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500;
      setPhase({ kind: "failed", message, isPartial: !isRefused });
    }
  };
  if (phase.kind === "done") {
    return <Applied {...phase} onAgain={() => setPhase({ kind: "filling" })} />;
  }
  return (
    <form class="form" onSubmit={send} aria-busy={phase.kind === "sending" ? "true" : "false"}>
      <p class="muted">
        The gateway uses it once to reach your cluster and does not store it. It must contain inline
        credentials.
      </p>
      <div class="field">
        <label for={`${id}file`}>Kubeconfig file</label>
        <input
          id={`${id}file`}
          type="file"
          class="file"
          onClick={(event: Event) => {
            (event.target as HTMLInputElement).value = ""; // allows choosing a changed file again
          }}
          onChange={choose}
        />
      </div>
      <div class="field">
        <label for={`${id}text`}>or paste it here</label>
        <textarea
          id={`${id}text`}
          ref={area}
          class="input mono"
          rows={4}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          dir="ltr"
          onInput={(event: Event) => fill((event.target as HTMLTextAreaElement).value)}
        />
      </div>
      <div role="status">
        {peek
          ? (
            <dl class="facts">
              <Fact name="Context" value={peek.context} />
              <Fact name="Server" value={peek.server} />
              <Fact name="User" value={peek.user} />
            </dl>
          )
          : null}
        {peek?.problem ? <Notice tone="warning">{`${peek.problem}.`}</Notice> : null}
      </div>
      {exportName === undefined ? null : (
        <label class="check">
          <input
            type="checkbox"
            checked={isInstalling}
            onChange={(event: Event) => setIsInstalling((event.target as HTMLInputElement).checked)}
          />
          Install or update the konnector as well
        </label>
      )}
      <div class="actions">
        <button
          type="submit"
          class="button button-main"
          disabled={text.trim() === "" || phase.kind === "sending"}
        >
          {phase.kind === "sending"
            ? "Applying…"
            : peek?.context
            ? `Apply to ${peek.context}`
            : "Apply"}
        </button>
      </div>
      {phase.kind === "sending" ? <Applying /> : null}
      {phase.kind === "failed" ? <NotApplied {...phase} /> : null}
    </form>
  );
}

const Fact = ({ name, value }: { name: string; value: string }) => (
  <div>
    <dt>{name}</dt>
    <dd class="mono" dir="ltr">{value || "not found"}</dd>
  </div>
);
