{{/*
Every flag of the backend and what sets it. `value` is the path of a value that becomes the flag,
unless it is an empty text. `secret` and `key` are paths of the name of a Secret and a key in it,
which reach the backend as an environment variable. `file` is the path of a value that names a
ConfigMap or Secret, which is mounted. `of` is the module without which the flag is left out; the
issuer sweeps too if RBAC decides who may bind.
*/}}
{{- define "xbind-backend.flags" -}}
- {flag: enable-gateway, value: gateway.enabled}
- {flag: enable-issuer, value: issuer.enabled}
- {flag: enable-reaper, value: reaper.enabled}
- {flag: enable-apply, value: apply.enabled}
- {flag: install-crds, value: installCrds}
- {flag: listen-address, value: gateway.listenAddress, of: gateway}
- {flag: external-url, value: gateway.externalUrl, of: gateway}
- {flag: provider-name, value: gateway.providerName, of: gateway}
- {flag: konnector-image, value: gateway.konnectorImage, of: gateway}
- {flag: pickup-ttl, value: gateway.pickupTtl, of: gateway}
- {flag: rate-limit, value: gateway.rateLimit, of: gateway}
- {flag: external-address, value: gateway.externalAddress, of: gateway}
- {flag: external-ca-file, file: gateway.externalCa, of: gateway}
- {flag: oidc-issuer-url, value: oidc.issuerUrl, of: gateway}
- {flag: oidc-client-id, value: oidc.clientId, of: gateway}
- {flag: oidc-client-secret, secret: oidc.clientSecret.existingSecret, key: oidc.clientSecret.key, of: gateway}
- {flag: oidc-ca-file, file: oidc.ca, of: gateway}
- {flag: oidc-username-claim, value: oidc.usernameClaim, of: gateway}
- {flag: oidc-groups-claim, value: oidc.groupsClaim, of: gateway}
- {flag: oidc-scopes, value: oidc.scopes, of: gateway}
- {flag: oidc-redirect-url, value: oidc.redirectUrl, of: gateway}
- {flag: oidc-mock, value: oidc.mock.enabled, of: gateway}
- {flag: oidc-mock-listen, value: oidc.mock.listen, of: gateway}
- {flag: kubernetes-auth, value: kubernetesAuth, of: gateway}
- {flag: authorization, value: authorization.mode}
- {flag: authorization-user-prefix, value: authorization.userPrefix}
- {flag: authorization-group-prefix, value: authorization.groupPrefix}
- {flag: authorization-revoke, value: authorization.revoke, of: issuer}
- {flag: session-ttl, value: session.ttl, of: gateway}
- {flag: cookie-signing-key, secret: cookieKeys.existingSecret, key: cookieKeys.signingKey, of: gateway}
- {flag: cookie-encryption-key, secret: cookieKeys.existingSecret, key: cookieKeys.encryptionKey, of: gateway}
- {flag: issuer-scope, value: issuer.scope, of: issuer}
- {flag: reaper-ttl, value: reaper.ttl, of: reaper}
- {flag: reaper-interval, value: reaper.interval, of: sweeps}
- {flag: reaper-revoke, value: reaper.revoke, of: reaper}
- {flag: reaper-delete-boundary, value: reaper.deleteBoundary, of: reaper}
- {flag: reaper-hold-percent, value: reaper.holdPercent, of: sweeps}
- {flag: reaper-max-percent, value: reaper.maxPercent, of: sweeps}
- {flag: apply-deny-cidrs, value: apply.denyCidrs, of: apply}
- {flag: apply-allow-insecure-tls, value: apply.allowInsecureTls, of: apply}
- {flag: kubeconfig, file: kubeconfig}
- {flag: metrics-bind-address, value: metrics.bindAddress, of: manager}
- {flag: health-probe-bind-address, value: healthProbe.bindAddress, of: manager}
- {flag: leader-elect, value: leaderElection.enabled}
- {flag: leader-election-id, value: leaderElection.id, of: manager}
- {flag: zap-devel, value: log.devel}
- {flag: zap-encoder, value: log.encoder}
- {flag: zap-log-level, value: log.level}
- {flag: zap-stacktrace-level, value: log.stacktraceLevel}
- {flag: zap-time-encoding, value: log.timeEncoding}
{{- end -}}

{{/* Prints the value at a path as JSON: (list . "gateway.enabled"). */}}
{{- define "xbind-backend.at" -}}
{{- $found := (index . 0).Values -}}
{{- range splitList "." (index . 1) -}}{{- $found = index $found . -}}{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* Prints text if a row of the table applies: (list . $row). */}}
{{- define "xbind-backend.counts" -}}
{{- $root := index . 0 -}}
{{- $of := (index . 1).of -}}
{{- if not $of -}}true
{{- else if eq $of "manager" -}}{{- include "xbind-backend.hasManager" $root -}}
{{- else if eq $of "sweeps" -}}
{{- if or $root.Values.reaper.enabled (and $root.Values.issuer.enabled (eq $root.Values.authorization.mode "Kubernetes")) -}}true{{- end -}}
{{- else if (index $root.Values $of).enabled -}}true
{{- end -}}
{{- end -}}

{{/* Prints the value of a flag; JSON prints large numbers without an exponent. */}}
{{- define "xbind-backend.text" -}}
{{- if kindIs "slice" . -}}{{- join "," . -}}
{{- else if kindIs "string" . -}}{{- . -}}
{{- else -}}{{- toJson . -}}
{{- end -}}
{{- end -}}

{{- define "xbind-backend.leaderElect" -}}
{{- if or .Values.leaderElection.enabled (gt (int .Values.replicaCount) 1) -}}true{{- end -}}
{{- end -}}

{{- define "xbind-backend.args" -}}
{{- $root := . -}}
{{- range $row := include "xbind-backend.flags" . | fromYamlArray -}}
{{- if include "xbind-backend.counts" (list $root $row) -}}
{{- if eq $row.flag "leader-elect" }}
- {{ printf "--leader-elect=%t" (include "xbind-backend.leaderElect" $root | eq "true") | toJson }}
{{- else if $row.value -}}
{{- $value := include "xbind-backend.at" (list $root $row.value) | printf "[%s]" | fromJsonArray | first -}}
{{- if or (not (kindIs "string" $value)) $value }}
- {{ printf "--%s=%s" $row.flag (include "xbind-backend.text" $value) | toJson }}
{{- end -}}
{{- else if $row.file -}}
{{- $file := include "xbind-backend.at" (list $root $row.file) | fromJson -}}
{{- if or $file.existingSecret $file.existingConfigMap }}
- {{ printf "--%s=/etc/xbind/%s/%s" $row.flag $row.flag $file.key | toJson }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{- define "xbind-backend.env" -}}
- name: POD_NAMESPACE
  valueFrom:
    fieldRef:
      fieldPath: metadata.namespace
{{- $root := . -}}
{{- range $row := include "xbind-backend.flags" . | fromYamlArray -}}
{{- if and $row.secret (include "xbind-backend.counts" (list $root $row)) -}}
{{- $secret := include "xbind-backend.at" (list $root $row.secret) | printf "[%s]" | fromJsonArray | first -}}
{{- if $secret }}
- name: XBIND_{{ $row.flag | upper | replace "-" "_" }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret | quote }}
      key: {{ include "xbind-backend.at" (list $root $row.key) }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{- define "xbind-backend.volumes" -}}
{{- $root := . -}}
{{- range $row := include "xbind-backend.flags" . | fromYamlArray -}}
{{- if and $row.file (include "xbind-backend.counts" (list $root $row)) -}}
{{- $file := include "xbind-backend.at" (list $root $row.file) | fromJson -}}
{{- if $file.existingSecret }}
- name: {{ $row.flag }}
  secret:
    secretName: {{ $file.existingSecret | quote }}
    items: [{key: {{ $file.key | quote }}, path: {{ $file.key | quote }}}]
{{- else if $file.existingConfigMap }}
- name: {{ $row.flag }}
  configMap:
    name: {{ $file.existingConfigMap | quote }}
    items: [{key: {{ $file.key | quote }}, path: {{ $file.key | quote }}}]
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{- define "xbind-backend.volumeMounts" -}}
{{- $root := . -}}
{{- range $row := include "xbind-backend.flags" . | fromYamlArray -}}
{{- if and $row.file (include "xbind-backend.counts" (list $root $row)) -}}
{{- $file := include "xbind-backend.at" (list $root $row.file) | fromJson -}}
{{- if or $file.existingSecret $file.existingConfigMap }}
- name: {{ $row.flag }}
  mountPath: /etc/xbind/{{ $row.flag }}
  readOnly: true
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end -}}
{{- end -}}
