{{/*
The rights of each module. A test runs the backend with exactly these rights, and fails if one is
missing or unused. Every rule with `watch` also has `list`, because some API servers cannot send the
existing objects through a watch.
*/}}

{{- define "xbind-backend.rules.gateway" -}}
- apiGroups: [catalog.xbind.io]
  resources: [exports]
  verbs: [get, list, watch]
- apiGroups: [catalog.xbind.io]
  resources: [collections]
  verbs: [list, watch]
- apiGroups: [iam.xbind.io]
  resources: [grants]
  verbs: [get, list, watch, create, patch]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [get]
{{- /* The token of a Grant goes into its bundle. */}}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list, watch]
{{- /* Not `get`: it would include subresources such as nodes/proxy and pods/exec. */}}
{{- with without .Values.rbac.inventoryGroups "" }}
- apiGroups: {{ toJson . }}
  resources: ["*"]
  verbs: [list, watch]
{{- end }}
{{- if has "" .Values.rbac.inventoryGroups }}
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [list, watch]
{{- end }}
{{- if .Values.kubernetesAuth }}
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
{{- end }}
{{- if eq .Values.authorization.mode "Kubernetes" }}
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- if .Values.authorization.bulkReviews }}
{{- /* Both are needed to impersonate, and only for this question: what may the user do? */}}
- apiGroups: [authentication.k8s.io]
  resources: [users, groups]
  verbs: ["impersonate:user-info"]
- apiGroups: [authorization.k8s.io]
  resources: [selfsubjectrulesreviews]
  verbs: ["impersonate-on:user-info:create"]
{{- if .Values.kubernetesAuth }}
- apiGroups: [authentication.k8s.io]
  resources: [serviceaccounts]
  verbs: ["impersonate:serviceaccount"]
- apiGroups: [authorization.k8s.io]
  resources: [selfsubjectrulesreviews]
  verbs: ["impersonate-on:serviceaccount:create"]
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "xbind-backend.rules.issuer" -}}
- apiGroups: [catalog.xbind.io]
  resources: [exports]
  verbs: [list, watch]
- apiGroups: [catalog.xbind.io]
  resources: [exports/status]
  verbs: [patch]
- apiGroups: [iam.xbind.io]
  resources: [grants]
  verbs: [get, list, watch, patch]
- apiGroups: [iam.xbind.io]
  resources: [grants/status]
  verbs: [patch]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [serviceaccounts, secrets]
  verbs: [get, list, watch, create, patch, delete]
{{- /* Consumers get rights that the issuer does not have itself. */}}
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, clusterroles]
  verbs: [get, list, watch, create, patch, delete, escalate, bind]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [rolebindings, clusterrolebindings]
  verbs: [get, list, watch, create, patch, delete]
{{- /* The heartbeats of a Grant go with it. */}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- if eq .Values.authorization.mode "Kubernetes" }}
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end -}}

{{- define "xbind-backend.rules.reaper" -}}
- apiGroups: [iam.xbind.io]
  resources: [grants]
  verbs: [list, watch, patch]
- apiGroups: [iam.xbind.io]
  resources: [grants/status]
  verbs: [patch]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list, watch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- if .Values.reaper.revoke }}
- apiGroups: [iam.xbind.io]
  resources: [grants]
  verbs: [get, delete]
{{- if .Values.reaper.deleteBoundary }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, patch, delete]
{{- end }}
{{- end }}
{{- end -}}

{{- define "xbind-backend.rules.crds" -}}
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [exports.catalog.xbind.io, collections.catalog.xbind.io, grants.iam.xbind.io]
  verbs: [get, list, watch, create, patch]
{{- end -}}
