/**
 * The public module of xbind: the resources as TypeScript types with their names, for programs
 * that read or write them.
 *
 * @module
 */
export * from "./server/api/resources.ts";
export {
  boundaryName,
  grantName,
  identityHash,
  isDnsSubdomain,
  parseApiName,
} from "./server/names.ts";
