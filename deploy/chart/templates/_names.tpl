{{- define "xbind-backend.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Prints the name of every object: release and chart, or only one if it contains the other. */}}
{{- define "xbind-backend.fullname" -}}
{{- $name := include "xbind-backend.name" . -}}
{{- $whole := printf "%s-%s" .Release.Name $name -}}
{{- if contains $name .Release.Name -}}{{- $whole = .Release.Name -}}
{{- else if hasPrefix (printf "%s-" .Release.Name) $name -}}{{- $whole = $name -}}
{{- end -}}
{{- /* Short enough for suffixes. */ -}}
{{- default $whole .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "xbind-backend.selectorLabels" -}}
app.kubernetes.io/name: {{ include "xbind-backend.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "xbind-backend.labels" -}}
{{ include "xbind-backend.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: xbind
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "xbind-backend.serviceAccountName" -}}
{{- $ours := .Values.serviceAccount.create | ternary (include "xbind-backend.fullname" .) "default" -}}
{{- default $ours .Values.serviceAccount.name -}}
{{- end -}}

{{- define "xbind-backend.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Prints text if the issuer or the reaper is on, as only these have metrics, probes and an election. */}}
{{- define "xbind-backend.hasManager" -}}
{{- if or .Values.issuer.enabled .Values.reaper.enabled -}}true{{- end -}}
{{- end -}}

{{/* Prints the port of an address such as ":8080" or "[::1]:8080", and nothing for "0" (off). */}}
{{- define "xbind-backend.portOf" -}}
{{- if ne (toString .) "0" -}}{{- splitList ":" . | last -}}{{- end -}}
{{- end -}}

{{/* Prints the port of each server, and nothing for a server that is off. */}}
{{- define "xbind-backend.httpPort" -}}
{{- if .Values.gateway.enabled -}}{{- include "xbind-backend.portOf" .Values.gateway.listenAddress -}}{{- end -}}
{{- end -}}

{{- define "xbind-backend.metricsPort" -}}
{{- if include "xbind-backend.hasManager" . -}}{{- include "xbind-backend.portOf" .Values.metrics.bindAddress -}}{{- end -}}
{{- end -}}

{{- define "xbind-backend.healthPort" -}}
{{- if include "xbind-backend.hasManager" . -}}{{- include "xbind-backend.portOf" .Values.healthProbe.bindAddress -}}{{- end -}}
{{- end -}}
