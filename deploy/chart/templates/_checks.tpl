{{/* Fails on values that the backend would refuse at start, or that cookieKeys.require forbids. */}}
{{- define "xbind-backend.checks" -}}
{{- with .Values -}}
{{- if not (or .gateway.enabled .issuer.enabled .reaper.enabled) -}}
{{- fail "there is nothing to run: enable gateway.enabled, issuer.enabled or reaper.enabled" -}}
{{- end -}}
{{- if and .apply.enabled (not .gateway.enabled) -}}
{{- fail "apply.enabled needs gateway.enabled: the route belongs to the gateway" -}}
{{- end -}}
{{- if and (eq .authorization.mode "Kubernetes") (not (or .gateway.enabled .issuer.enabled)) -}}
{{- fail "authorization.mode Kubernetes needs gateway.enabled or issuer.enabled: only these ask who may do what" -}}
{{- end -}}
{{- if and .authorization.revoke (ne .authorization.mode "Kubernetes") -}}
{{- fail "authorization.revoke needs authorization.mode Kubernetes" -}}
{{- end -}}
{{- if and .authorization.revoke (not .issuer.enabled) -}}
{{- fail "authorization.revoke needs issuer.enabled: the issuer takes the rights away" -}}
{{- end -}}
{{- range $name, $prefix := dict "userPrefix" .authorization.userPrefix "groupPrefix" .authorization.groupPrefix -}}
{{- if regexMatch "^(?i:system|kubeadm)[:/]" $prefix -}}
{{- fail (printf "authorization.%s leads to names of Kubernetes itself: use another, as in xbind:" $name) -}}
{{- end -}}
{{- end -}}
{{- if and .cookieKeys.require .gateway.enabled (not .cookieKeys.existingSecret) -}}
{{- fail (printf "cookieKeys.require is true and cookieKeys.existingSecret is empty; make the Secret with:\n%s\nand set cookieKeys.existingSecret=xbind-cookie-keys" (include "xbind-backend.makeCookieKeys" $)) -}}
{{- end -}}
{{- range $name, $file := dict "gateway.externalCa" .gateway.externalCa "oidc.ca" .oidc.ca -}}
{{- if and $file.existingConfigMap $file.existingSecret -}}
{{- fail (printf "%s has both existingConfigMap and existingSecret: name one of them" $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Prints the command that creates the Secret of cookieKeys, as the backend's log does. */}}
{{- define "xbind-backend.makeCookieKeys" -}}
kubectl create secret generic xbind-cookie-keys --from-literal={{ .Values.cookieKeys.signingKey }}=$(openssl rand -base64 32) --from-literal={{ .Values.cookieKeys.encryptionKey }}=$(openssl rand -base64 32) --namespace {{ .Release.Namespace }}
{{- end -}}
