import { isMapping } from "./differences.ts";

/** Returns whether a value of a manifest gives no rights. */
type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === "string";
const isPlain: Test = (value) => typeof value === "string" || typeof value === "number";
const either = (...texts: string[]): Test => (value) => texts.some((each) => each === value);
const listOf = (test: Test): Test => (value) => Array.isArray(value) && value.every(test);

/** An object with no other fields than these. */
const only = (fields: Readonly<Record<string, Test>>): Test => (value) =>
  isMapping(value) &&
  Object.entries(value).every(([key, field]) =>
    Object.hasOwn(fields, key) && fields[key]?.(field) === true
  );

/**
 * Keys that only describe an object. Any other key may make a program of the cluster give rights:
 * it may aggregate a ClusterRole, relax pod security, attach a cloud identity or inject a
 * container.
 */
const DESCRIPTIVE_KEY =
  /^((app\.kubernetes|prometheus|core\.xbind)\.io\/[\w.-]+|kubectl\.kubernetes\.io\/default-container)$/;

/** Labels or annotations that only describe an object. */
export const isDescriptive: Test = (value) =>
  isMapping(value) &&
  Object.entries(value).every(([key, text]) => DESCRIPTIVE_KEY.test(key) && isText(text));

/** Fields of the pod itself, none of which holds a label or an annotation. */
const POD_FIELD = either(
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
);

/** Environment variables that read no Secret, no ConfigMap and no file. */
export const isPlainEnvironment: Test = listOf((variable) =>
  isMapping(variable) && isText(variable["name"]) && PLAIN_VARIABLE(variable)
);

const PLAIN_VARIABLE = only({
  name: isText,
  value: isText,
  valueFrom: only({
    fieldRef: only({ apiVersion: isText, fieldPath: POD_FIELD }),
    resourceFieldRef: only({ containerName: isText, resource: isText, divisor: isPlain }),
  }),
});

const PROBE_TIMES = {
  initialDelaySeconds: isPlain,
  timeoutSeconds: isPlain,
  periodSeconds: isPlain,
  terminationGracePeriodSeconds: isPlain,
  successThreshold: isPlain,
  failureThreshold: isPlain,
};

/** A probe that asks the pod itself over the network, and no other host. */
export const isOwnProbe: Test = only({
  httpGet: only({ path: isText, port: isPlain, scheme: isText }),
  tcpSocket: only({ port: isPlain }),
  grpc: only({ port: isPlain, service: isText }),
  ...PROBE_TIMES,
});

const QUANTITIES = only({ cpu: isPlain, memory: isPlain, "ephemeral-storage": isPlain });

/** Resources of every node. Others stand for devices of the host. */
export const isOrdinaryResources: Test = only({ limits: QUANTITIES, requests: QUANTITIES });

/** How a Deployment replaces its pods. */
export const isStrategy: Test = only({
  type: either("Recreate", "RollingUpdate"),
  rollingUpdate: only({ maxSurge: isPlain, maxUnavailable: isPlain }),
});
