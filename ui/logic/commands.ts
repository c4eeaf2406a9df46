/** What to type into a terminal; names are DNS names, so nothing needs quoting but URLs. */
export const commands = {
  /** Binds and applies by itself. */
  bindExport: (origin: string, name: string) => `kubectl bind export ${name} --server ${origin}`,
  /** Needed once for each machine. */
  login: (origin: string) => `kubectl bind login ${origin}`,
  connect: (origin: string) => `kubectl bind connect --server ${origin}`,
  /** Spends the pickup. */
  applyPickup: (origin: string, pickupUrl: string) =>
    `curl -fsS '${origin}${pickupUrl}' | kubectl apply -f -`,
  applyFile: (fileName: string) => `kubectl apply -f ${fileName}`,
  installKonnector: (origin: string) => `curl -fsS '${origin}/api/konnector' | ${installFrom("-")}`,
  installKonnectorFile: (fileName: string) => installFrom(fileName),
};

/** Also over what the plugin or the gateway installed, whose fields are theirs until then. */
const installFrom = (file: string) => `kubectl apply --server-side --force-conflicts -f ${file}`;
