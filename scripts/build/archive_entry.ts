/** A file, folder or link in an archive; the user who unpacks it owns it. */
export type ArchiveEntry =
  | {
    readonly kind: "file";
    /** Relative, with forward slashes. */
    readonly path: string;
    readonly content: Uint8Array;
    readonly isExecutable?: boolean;
  }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string };

/** The permission bits of an entry, regardless of the umask of the build machine. */
export function modeOf(entry: ArchiveEntry): number {
  if (entry.kind === "link") return 0o777;
  return entry.kind === "folder" || entry.isExecutable ? 0o755 : 0o644;
}

/** Sorts entries by path, so that archives do not depend on the file system. */
export const inOrder = (entries: readonly ArchiveEntry[]): ArchiveEntry[] =>
  [...entries].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));

/** Lists all folders above these paths, for readers that do not create them. */
export function foldersOf(paths: readonly string[]): ArchiveEntry[] {
  const folders = new Set<string>();
  for (const path of paths) {
    const parts = path.split("/");
    for (let end = 1; end < parts.length; end++) folders.add(parts.slice(0, end).join("/"));
  }
  return [...folders].map((path) => ({ kind: "folder", path }));
}
