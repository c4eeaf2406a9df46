{{/* Warns of values that render but are risky or have no effect, in one paragraph each. */}}
{{- define "xbind-backend.warnings" -}}
{{- $several := gt (int .Values.replicaCount) 1 -}}
{{- with .Values -}}
{{- if .gateway.enabled -}}
{{- if and $several (not .cookieKeys.existingSecret) }}
* {{ $.Values.replicaCount }} REPLICAS WITHOUT SHARED COOKIE KEYS: a session made by one replica is refused by the others,
  so people are signed out at random. Make a Secret and name it in cookieKeys.existingSecret:

    {{ include "xbind-backend.makeCookieKeys" $ }}
    helm upgrade {{ $.Release.Name }} … --namespace {{ $.Release.Namespace }} --reuse-values --set cookieKeys.existingSecret=xbind-cookie-keys
{{ end }}
{{- if .oidc.mock.enabled }}
* oidc.mock.enabled SIGNS EVERYBODY IN WITHOUT A PASSWORD. Never use it outside development.
{{ else if not (and .oidc.issuerUrl .oidc.clientId) }}
* NO LOGIN IS CONFIGURED, and the gateway will not start: set oidc.issuerUrl and oidc.clientId (and
  oidc.clientSecret.existingSecret for a confidential client).
{{ end }}
{{- if not .gateway.externalUrl }}
* gateway.externalUrl is empty: logins work through http://localhost:8080 only. Set it to the URL
  under which people reach the gateway.
{{ end }}
{{- if not (or .gateway.externalAddress .kubeconfig.existingSecret) }}
* gateway.externalAddress is empty: issued kubeconfigs name the in-cluster address of the API server,
  which consumers outside this cluster cannot reach.
{{ end }}
{{- if hasSuffix ":latest" .gateway.konnectorImage }}
* gateway.konnectorImage is {{ .gateway.konnectorImage }}, which is tied to no version: pin it.
{{ end }}
{{- if not .issuer.enabled }}
* issuer.enabled is false: binds time out unless another release issues credentials.
{{ end }}
{{- end -}}
{{- if and .reaper.enabled .reaper.revoke (not .issuer.enabled) }}
* reaper.revoke is true, and issuer.enabled is false: stale Grants stay until the issuer of another
  release has revoked their credentials.
{{ end }}
{{- if and .reaper.enabled .reaper.deleteBoundary (not .reaper.revoke) }}
* reaper.deleteBoundary has no effect without reaper.revoke.
{{ end }}
{{- if and (not .image.tag) (not .image.digest) (eq $.Chart.AppVersion "0.0.0") }}
* image.tag is empty: the image is tagged 0.0.0, a placeholder. Set it to the version to install.
{{ end }}
{{- if not .rbac.create }}
* rbac.create is false: {{ empty .kubeconfig.existingSecret | ternary (include "xbind-backend.serviceAccountName" $) "the user of the kubeconfig" }} needs the rights that
  "helm template … --show-only templates/rbac.yaml --set rbac.create=true" shows.
{{ end }}
{{- end -}}
{{- end -}}
