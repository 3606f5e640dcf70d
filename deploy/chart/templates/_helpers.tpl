{{- define "mockserver.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* 52 characters leave room for "-headless" and for the number of a StatefulSet's pod. */}}
{{- define "mockserver.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "mockserver.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "mockserver.headless" -}}
{{ include "mockserver.fullname" . }}-headless
{{- end }}

{{- define "mockserver.selector" -}}
app.kubernetes.io/name: {{ include "mockserver.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mockserver.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "mockserver.selector" . }}
app.kubernetes.io/version: {{ default .Chart.AppVersion .Values.image.tag | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "mockserver.image" -}}
{{- if .Values.image.digest }}
{{- .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}
{{- .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- /* Each pod has a verdict and runs of its own: its name, not its address, tells it apart in a dashboard. */}}
{{- define "mockserver.relabelings" -}}
- sourceLabels: [__meta_kubernetes_pod_name]
  targetLabel: instance
{{- end }}

{{- /* The port of the Service that proxies use: clear text, unless it is refused. */}}
{{- define "mockserver.port" -}}
{{ ternary "https" "http" (and .Values.tls.enabled .Values.tls.only) }}
{{- end }}
