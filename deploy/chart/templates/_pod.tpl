{{- /* The template of a pod, for the Deployment and the StatefulSet. */}}
{{- define "mockserver.pod" -}}
metadata:
  labels:
    {{- /* Without the version of the chart: another one is no reason to replace pods. */}}
    {{- include "mockserver.selector" . | nindent 4 }}
    {{- with .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- if or .Values.podAnnotations .Values.configChecksum }}
  annotations:
    {{- if .Values.configChecksum }}
    checksum/config: {{ toYaml .Values.config | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  {{- with .Values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  # Otherwise a Service named mockserver would set MOCKSERVER_… variables.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add .Values.preStopSeconds .Values.graceSeconds 15 }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpread }}
  {{- if .enabled }}
  topologySpreadConstraints:
    - topologyKey: {{ .topologyKey }}
      maxSkew: {{ .maxSkew }}
      whenUnsatisfiable: {{ .whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "mockserver.selector" $ | nindent 10 }}
  {{- end }}
  {{- end }}
  containers:
    - name: mockserver
      image: {{ include "mockserver.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      {{- with .Values.args }}
      args:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      env:
        {{- include "mockserver.env" . | nindent 8 }}
      {{- with .Values.envFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - {name: http, containerPort: 8000}
        - {name: admin, containerPort: {{ .Values.admin.port }}}
      startupProbe:
        httpGet: {path: /readyz, port: admin}
        periodSeconds: 1
        timeoutSeconds: 5
        failureThreshold: 60
      readinessProbe:
        httpGet: {path: /readyz, port: admin}
        periodSeconds: 10
        timeoutSeconds: 5
      livenessProbe:
        httpGet: {path: /healthz, port: admin}
        periodSeconds: 30
        timeoutSeconds: 5
      {{- if .Values.preStopSeconds }}
      # Balancers need a moment to notice that the pod is stopping.
      lifecycle:
        preStop:
          sleep: {seconds: {{ .Values.preStopSeconds }}}
      {{- end }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        {{- include "mockserver.mounts" . | nindent 8 }}
  volumes:
    {{- include "mockserver.volumes" . | nindent 4 }}
{{- end }}

{{- define "mockserver.env" -}}
- {name: MOCKSERVER_FORMAT, value: {{ .Values.logFormat | quote }}}
- {name: MOCKSERVER_GRACE, value: {{ printf "%ds" (int .Values.graceSeconds) | quote }}}
- {name: MOCKSERVER_ADMIN, value: {{ printf ":%d" (int .Values.admin.port) | quote }}}
{{- with .Values.admin.token }}
{{- if .existingSecret }}
- name: MOCKSERVER_ADMIN_TOKEN
  valueFrom: {secretKeyRef: {name: {{ .existingSecret }}, key: {{ .key }}}}
{{- end }}
{{- end }}
{{- if .Values.fleet.enabled }}
- name: MOCKSERVER_FLEET
  value: {{ printf "dns:%s:%d" (include "mockserver.headless" .) (int .Values.admin.port) | quote }}
{{- if not .Values.autoscaling.enabled }}
- {name: MOCKSERVER_FLEET_EXPECT, value: {{ .Values.replicas | quote }}}
{{- end }}
{{- end }}
{{- with .Values.tls }}
{{- if .enabled }}
- {name: MOCKSERVER_TLS_CERT, value: /etc/mockserver/tls/tls.crt}
- {name: MOCKSERVER_TLS_KEY, value: /etc/mockserver/tls/tls.key}
{{- if .only }}
- {name: MOCKSERVER_TLS_ONLY, value: "true"}
{{- end }}
{{- if .clientCA.existingSecret }}
- {name: MOCKSERVER_TLS_CLIENT_CA, value: /etc/mockserver/client-ca/{{ .clientCA.key }}}
{{- end }}
{{- if .ticketKeys.existingSecret }}
- {name: MOCKSERVER_TLS_TICKET_KEYS, value: /etc/mockserver/ticket-keys/{{ .ticketKeys.key }}}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.persistence }}
{{- if and .enabled .webhooks }}
- {name: MOCKSERVER_WEBHOOK_STORE, value: /var/lib/mockserver/webhooks}
{{- end }}
{{- if and .enabled .state }}
- {name: MOCKSERVER_STATE, value: /var/lib/mockserver/state}
{{- end }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "mockserver.mounts" -}}
- {name: configuration, mountPath: /app, readOnly: true}
{{- if .Values.tls.enabled }}
- {name: tls, mountPath: /etc/mockserver/tls, readOnly: true}
{{- if .Values.tls.clientCA.existingSecret }}
- {name: client-ca, mountPath: /etc/mockserver/client-ca, readOnly: true}
{{- end }}
{{- if .Values.tls.ticketKeys.existingSecret }}
- {name: ticket-keys, mountPath: /etc/mockserver/ticket-keys, readOnly: true}
{{- end }}
{{- end }}
{{- if .Values.persistence.enabled }}
- {name: data, mountPath: /var/lib/mockserver}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "mockserver.volumes" -}}
- name: configuration
  configMap: {name: {{ default (include "mockserver.fullname" .) .Values.existingConfigMap }}}
{{- if .Values.tls.enabled }}
- name: tls
  secret: {secretName: {{ required "tls.enabled needs tls.existingSecret" .Values.tls.existingSecret }}}
{{- with .Values.tls.clientCA.existingSecret }}
- name: client-ca
  secret: {secretName: {{ . }}}
{{- end }}
{{- with .Values.tls.ticketKeys.existingSecret }}
- name: ticket-keys
  secret: {secretName: {{ . }}}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
