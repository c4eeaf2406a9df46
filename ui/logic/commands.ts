/** Builds shell commands; names are DNS names, so only URLs need quotes. */
export const commands = {
  /** Binds the Export and applies the bundle. */
  bindExport: (origin: string, name: string) => `kubectl bind export ${name} --server ${origin}`,
  /** Is needed once on each machine. */
  login: (origin: string) => `kubectl bind login ${origin}`,
  connect: (origin: string) => `kubectl bind connect --server ${origin}`,
  /** Spends the pickup. */
  applyPickup: (origin: string, pickupUrl: string) =>
    `curl -fsS '${origin}${pickupUrl}' | kubectl apply -f -`,
  applyFile: (fileName: string) => `kubectl apply -f ${fileName}`,
  installKonnector: (origin: string) => `curl -fsS '${origin}/api/konnector' | ${installFrom("-")}`,
  installKonnectorFile: (fileName: string) => installFrom(fileName),
};

/** Takes over fields that the plugin or the gateway applied before. */
const installFrom = (file: string) => `kubectl apply --server-side --force-conflicts -f ${file}`;
