import { BuildError } from "./run_build.ts";

/** The packages in deno.lock. */
export interface LockFile {
  readonly npm: Readonly<
    Record<string, { readonly integrity: string; readonly dependencies?: readonly string[] }>
  >;
}

/** A package of one version, and its dependencies. */
export interface LockedPackage {
  /** As the lock file spells it, such as `@hono/node-server@2.1.6_hono@4.13.17`. */
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly sha512: string;
  /** Ids of packages. */
  readonly dependencies: readonly string[];
}

/** Lists these packages and all their dependencies; throws if one is not locked. */
export function lockedPackages(lock: LockFile, roots: readonly string[]): LockedPackage[] {
  const found = new Map<string, LockedPackage>();
  const visit = (id: string) => {
    if (found.has(id)) return;
    const locked = lock.npm[id];
    if (!locked) throw new BuildError(`Cannot list the packages: "${id}" is not in deno.lock`);
    const dependencies = (locked.dependencies ?? []).map((name) => idOf(lock, name)).sort();
    found.set(id, { id, ...nameAndVersion(id), sha512: sha512Of(locked.integrity), dependencies });
    dependencies.forEach(visit);
  };
  roots.forEach(visit);
  return [...found.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** The lock file omits the version of a package that it has only once. */
function idOf(lock: LockFile, dependency: string): string {
  if (lock.npm[dependency]) return dependency;
  const ids = Object.keys(lock.npm).filter((id) =>
    nameAndVersion(id).name === dependency || id.startsWith(`${dependency}_`)
  );
  const [id, ...others] = ids;
  if (id !== undefined && others.length === 0) return id;
  throw new BuildError(
    `Cannot list the packages: "${dependency}" is ${ids.length} times in deno.lock`,
  );
}

/** An id may name peer packages after the version. */
function nameAndVersion(id: string): { name: string; version: string } {
  const [, name = id, version = ""] = /^(@?[^@]+)@([^_]+)/.exec(id) ?? [];
  return { name, version };
}

function sha512Of(integrity: string): string {
  const [, base64] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  if (base64 === undefined) {
    throw new BuildError(`Cannot list the packages: "${integrity}" is no SHA-512 sum`);
  }
  return Uint8Array.fromBase64(base64).toHex();
}
