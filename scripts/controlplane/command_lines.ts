/** The client limits of kube-controller-manager; undefined ones have Kubernetes' defaults. */
export interface ControllerManagerLimits {
  kubeApiQps?: number;
  kubeApiBurst?: number;
  concurrentTokenSyncs?: number;
}

/** The socket etcd listens on, in its working directory: etcd insists on the form host:port. */
export const ETCD_SOCKET = "etcd.sock:0";

/** The files of a control plane, relative to its directory, which is where its processes run. */
export const FILES = {
  caCert: "ca.crt",
  caKey: "ca.key",
  serverCert: "apiserver.crt",
  serverKey: "apiserver.key",
  tokenPublicKey: "service-account.pub",
  tokenPrivateKey: "service-account.key",
  adminKubeconfig: "admin.kubeconfig",
  controllerManagerKubeconfig: "controller-manager.kubeconfig",
  auditPolicy: "audit-policy.json",
  auditLog: "audit.log",
  description: "plane.json",
} as const;

/** The controllers that give credentials and clean up; nothing that would run workloads. */
const CONTROLLERS = [
  "serviceaccount-token-controller",
  "serviceaccount-controller",
  "namespace-controller",
  "garbage-collector-controller",
  "root-ca-certificate-publisher-controller",
];

const flags = (values: Record<string, string | number | boolean | undefined>): string[] =>
  Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `--${name}=${value}`);

/** etcd on sockets only. Without fsync, data survives a crash of the process only. */
export const etcdArgs = (): string[] => {
  const client = `unix://${ETCD_SOCKET}`;
  const peer = "unix://peer.sock:0";
  return flags({
    name: "etcd",
    "data-dir": "etcd",
    "listen-client-urls": client,
    "advertise-client-urls": client,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `etcd=${peer}`,
    "unsafe-no-fsync": true,
    "heartbeat-interval": 50,
    "election-timeout": 250, // it elects itself: the default of 1 s only delays the start
    "snapshot-count": 5_000,
    "max-wals": 2,
    "log-level": "warn",
  });
};

/** kube-apiserver on a loopback port, with RBAC and certificates for users. */
export const apiServerArgs = (
  options: { port: number; auditLog: boolean; extra: string[] },
): string[] => [
  ...flags({
    "etcd-servers": `unix://${ETCD_SOCKET}`,
    "bind-address": "127.0.0.1",
    "advertise-address": "127.0.0.1",
    "secure-port": options.port,
    "tls-cert-file": FILES.serverCert,
    "tls-private-key-file": FILES.serverKey,
    "client-ca-file": FILES.caCert,
    "service-account-key-file": FILES.tokenPublicKey,
    "service-account-signing-key-file": FILES.tokenPrivateKey,
    "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
    "service-cluster-ip-range": "10.0.0.0/24",
    "authorization-mode": "RBAC",
    "endpoint-reconciler-type": "none", // a loopback address may not be an endpoint
    profiling: false,
    // The default would make a stop take up to a minute while there are watches.
    "shutdown-watch-termination-grace-period": "1s",
    "audit-policy-file": options.auditLog ? FILES.auditPolicy : undefined,
    "audit-log-path": options.auditLog ? FILES.auditLog : undefined,
    "audit-log-maxsize": options.auditLog ? 10_240 : undefined, // one file, whatever a bench does
  }),
  ...options.extra,
];

/** kube-controller-manager with only the controllers that xbind relies on. */
export const controllerManagerArgs = (limits: ControllerManagerLimits): string[] =>
  flags({
    kubeconfig: FILES.controllerManagerKubeconfig,
    controllers: CONTROLLERS.join(","),
    "service-account-private-key-file": FILES.tokenPrivateKey,
    "root-ca-file": FILES.caCert,
    "use-service-account-credentials": false,
    "leader-elect": false,
    "secure-port": 0,
    profiling: false,
    "kube-api-qps": limits.kubeApiQps,
    "kube-api-burst": limits.kubeApiBurst,
    "concurrent-serviceaccount-token-syncs": limits.concurrentTokenSyncs,
  });

/** Logs every request once, when it is answered, without bodies. */
export const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};
