import assert from "node:assert/strict";
import type { PolicyRule, RoleBinding } from "../../common/api/resources.ts";
import { ACCOUNT_UID_ANNOTATION } from "./grant_objects.ts";
import { bindingContent, isFilled, rulesContent } from "./issued_caches.ts";

const RULE: PolicyRule = { verbs: ["get"], apiGroups: ["example.org"], resources: ["widgets"] };

Deno.test("rulesContent() is the same for the same rules, as the API server may spell them", () => {
  const reordered = { resources: ["widgets"], apiGroups: ["example.org"], verbs: ["get"] };
  assert.equal(rulesContent([RULE]), rulesContent([reordered]));
  assert.equal(rulesContent([RULE]), rulesContent([{ ...RULE, resourceNames: [] }]));
  assert.equal(rulesContent(), rulesContent([]));
});

Deno.test("rulesContent() differs for every change of a rule", () => {
  const changes: PolicyRule[][] = [
    [],
    [RULE, RULE],
    [{ ...RULE, verbs: ["get", "list"] }],
    [{ ...RULE, verbs: ["*"] }],
    [{ ...RULE, apiGroups: [""] }],
    [{ ...RULE, resources: ["widgets", "widgets/status"] }],
    [{ ...RULE, resourceNames: ["one"] }],
    [{ ...RULE, nonResourceURLs: ["/metrics"] }],
    [{ ...RULE, apiGroups: [], resources: ["example.org", "widgets"] }],
  ];
  const contents = new Set([[RULE], ...changes].map((rules) => rulesContent(rules)));
  assert.equal(contents.size, changes.length + 1);
});

const BINDING: Pick<RoleBinding, "roleRef" | "subjects"> = {
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" },
  subjects: [{ kind: "ServiceAccount", name: "a", namespace: "b" }],
};
const SUBJECT = { kind: "ServiceAccount", name: "a", namespace: "b" } as const;

Deno.test("bindingContent() differs for every change of role or subjects", () => {
  const { roleRef } = BINDING;
  const changes: typeof BINDING[] = [
    { roleRef },
    { ...BINDING, roleRef: { ...roleRef, kind: "ClusterRole" } },
    { ...BINDING, roleRef: { ...roleRef, name: "b" } },
    { roleRef, subjects: [SUBJECT, SUBJECT] },
    { roleRef, subjects: [{ ...SUBJECT, namespace: "c" }] },
    { roleRef, subjects: [{ ...SUBJECT, name: "c" }] },
    { roleRef, subjects: [{ kind: "User", name: "a" }] },
    { roleRef, subjects: [{ kind: "Group", name: "a" }] },
  ];
  const contents = new Set([BINDING, ...changes].map((binding) => bindingContent(binding)));
  assert.equal(contents.size, changes.length + 1);
  const withDefaults = { ...BINDING, subjects: [{ ...SUBJECT, apiGroup: "" }] };
  assert.equal(bindingContent(withDefaults), bindingContent(BINDING));
});

Deno.test("isFilled() sees a token by the annotation that comes with it", () => {
  const secret = (annotations: Record<string, string>) => ({
    metadata: { name: "a", annotations },
  });
  assert.ok(isFilled(secret({ [ACCOUNT_UID_ANNOTATION]: "1" })));
  assert.ok(!isFilled(secret({})));
  assert.ok(!isFilled({ metadata: { name: "a" } }));
});
