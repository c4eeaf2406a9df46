import { render, useCallback, useLayoutEffect, useMemo, useRef, useState } from "hono/jsx/dom";
import type { Me, PendingGrant, ProviderInfo } from "../common/api/wire.ts";
import {
  apply,
  bindExport,
  pickUp,
  readCatalog,
  readClusters,
  readInstances,
  readMe,
  readProvider,
  signOut,
} from "./api.ts";
import { TopBar } from "./components/top_bar.tsx";
import { usePlace } from "./hooks/use_place.ts";
import { usePolled } from "./hooks/use_polled.ts";
import { boundExports, identityHash, isMine } from "./logic/bound_exports.ts";
import { type Place, START } from "./logic/place.ts";
import { CatalogView } from "./views/catalog_view.tsx";
import { ClustersView } from "./views/clusters_view.tsx";
import { OverlayView } from "./views/overlay_view.tsx";

const REFRESH_MS = 15_000;
const TITLES = { catalog: "Catalog", clusters: "Clusters" };

interface Account {
  readonly provider: ProviderInfo | undefined;
  readonly me: Me | undefined;
  readonly identity: string | undefined;
}

/** Reads the provider and the user once, as neither changes during a visit. */
function useAccount(): Account {
  const [account, setAccount] = useState<Account>({
    provider: undefined,
    me: undefined,
    identity: undefined,
  });
  useLayoutEffect(() => {
    const { signal } = new AbortController();
    const readAll = async () => {
      try {
        const [provider, me] = await Promise.all([readProvider(signal), readMe(signal)]);
        setAccount({ provider, me, identity: await identityHash(me.subject) });
      } catch {
        setTimeout(readAll, REFRESH_MS); // the views show the error
      }
    };
    void readAll();
  }, []);
  return account;
}

function App() {
  const { place, go, closeOverlay } = usePlace();
  const { provider, me, identity } = useAccount();
  const [catalog, refreshCatalog] = usePolled(readCatalog, REFRESH_MS);
  const [clusters, refreshClusters] = usePolled(readClusters, REFRESH_MS);
  const main = useRef<HTMLElement | null>(null);

  const bound = useMemo(
    () => clusters.data && me ? boundExports(clusters.data, me, identity) : new Map(),
    [clusters.data, me, identity],
  );
  const titles = useMemo(
    () => new Map(catalog.data?.exports.map(({ name, title }) => [name, title])),
    [catalog.data],
  );
  const change = (to: Partial<Place>) => go(to, "replace");
  // Keep the same functions, so that cards need not render again.
  const open = useCallback(
    (name: string) => go({ overlay: { kind: "details", export: name } }, "push"),
    [],
  );
  const bind = useCallback(
    (name: string) => go({ overlay: { kind: "bind", export: name } }, "push"),
    [],
  );
  useLayoutEffect(() => {
    document.title = [TITLES[place.view], provider?.name ?? "xbind"].join(" · ");
  }, [place.view, provider]);

  return (
    <>
      <TopBar
        provider={provider}
        me={me}
        view={place.view}
        onSkip={() => main.current?.focus()}
        onGo={(view) => {
          go({ ...START, view }, "push");
          scrollTo(0, 0);
        }}
        onSignOut={signOut}
      />
      <main ref={main} class="main" tabindex={-1}>
        {place.view === "catalog"
          ? (
            <CatalogView
              key="catalog"
              catalog={catalog}
              bound={bound}
              place={place}
              onChange={change}
              onOpen={open}
              onBind={bind}
              onRetry={refreshCatalog}
            />
          )
          : (
            <ClustersView
              key="clusters"
              clusters={clusters}
              titles={titles}
              place={place}
              isMine={(pending: PendingGrant) => me !== undefined && isMine(pending, me, identity)}
              onChange={change}
              onOpen={open}
              onBind={bind}
              onConnect={() => go({ overlay: { kind: "connect" } }, "push")}
              onRetry={refreshClusters}
            />
          )}
      </main>
      <OverlayView
        overlay={place.overlay}
        catalog={catalog.data}
        bound={bound}
        user={me?.kubernetes?.user}
        origin={location.origin}
        actions={{
          onBind: bindExport,
          onPickUp: pickUp,
          onApply: provider?.applyEnabled ? apply : undefined,
        }}
        onReadInstances={readInstances}
        onSwitchToBind={(name) => go({ overlay: { kind: "bind", export: name } }, "replace")}
        onChanged={refreshClusters}
        onClose={closeOverlay}
      />
    </>
  );
}

const root = document.getElementById("app");
if (root) render(<App />, root);
