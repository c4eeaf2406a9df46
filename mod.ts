/**
 * The public module of xbind: the resources with their names, the shapes of the HTTP API, and the
 * client of a gateway that `kubectl bind` itself uses. Importing it loads no Kubernetes code.
 *
 * @module
 */
export * from "./common/api/resources.ts";
export type * from "./common/api/wire.ts";
export {
  boundaryName,
  grantName,
  identityHash,
  isDnsSubdomain,
  parseApiName,
} from "./common/api/names.ts";
export { CliError, type Failure } from "./cli/cli_error.ts";
export { GatewayClient, type GatewayClientOptions } from "./cli/gateway/client.ts";
export { GatewayError } from "./cli/gateway/gateway_error.ts";
