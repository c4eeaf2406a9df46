/** The programs a control plane is made of, in the order they are built. */
export const BINARY_NAMES = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kubectl",
] as const;

/** One of the programs. */
export type BinaryName = typeof BINARY_NAMES[number];
