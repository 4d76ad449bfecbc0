{{/* Names, labels, and what the pods of servers, supervisors and migrations have in common. */}}

{{- define "drover.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (default .Chart.Name .Values.nameOverride) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (default .Chart.Name .Values.nameOverride) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Takes a list: the root, and the component. */}}
{{- define "drover.selector" -}}
{{- $root := first . -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end -}}

{{- define "drover.labels" -}}
{{- $root := first . -}}
{{ include "drover.selector" . }}
app.kubernetes.io/part-of: drover
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "drover.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- .Values.image.repository }}:{{ $tag }}{{ with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "drover.serviceAccount" -}}
{{- default (include "drover.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "drover.scheme" -}}
{{- if .Values.tls.secretName }}HTTPS{{ else }}HTTP{{ end -}}
{{- end -}}

{{/* Of a pod. Kubernetes would set DROVER_PORT and others for a Service named drover. */}}
{{- define "drover.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  # Secrets that are mounted are readable for this group alone.
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Of a container. */}}
{{- define "drover.container" -}}
image: {{ include "drover.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* Environment variables with which a process finds the database. A list: root, Secret. */}}
{{- define "drover.databaseEnv" -}}
{{- $database := (first .).Values.database -}}
{{- $secret := last . -}}
- name: DROVER_DATABASE_SCHEMA
  value: {{ $database.schema | quote }}
{{- if eq $database.use "file" }}
- name: DROVER_CONFIG
  value: /etc/drover/config/{{ $database.configKey }}
{{- else }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: { name: {{ $secret | quote }}, key: {{ $database.urlKey | quote }} }
{{- with $database.directUrlKey }}
- name: DROVER_DIRECT_URL
  valueFrom:
    secretKeyRef: { name: {{ $secret | quote }}, key: {{ . | quote }} }
{{- end }}
{{- end }}
{{- end -}}

{{/* A list: root, Secret of the database, whether certificates are mounted, too. */}}
{{- define "drover.mounts" -}}
{{- $values := (first .).Values -}}
{{- if eq $values.database.use "file" }}
- { name: config, mountPath: /etc/drover/config, readOnly: true }
{{- end }}
{{- if $values.database.caSecretName }}
- { name: database-ca, mountPath: /etc/drover/database-ca, readOnly: true }
{{- end }}
{{- if and (last .) $values.tls.secretName }}
- { name: tls, mountPath: /etc/drover/tls, readOnly: true }
{{- end }}
{{- if and (last .) $values.tls.clientsSecretName }}
- { name: clients, mountPath: /etc/drover/clients, readOnly: true }
{{- end }}
{{- end -}}

{{- define "drover.volumes" -}}
{{- $values := (first .).Values -}}
{{- if eq $values.database.use "file" }}
- name: config
  secret: { secretName: {{ index . 1 | quote }}, defaultMode: 0440 }
{{- end }}
{{- with $values.database.caSecretName }}
- name: database-ca
  secret: { secretName: {{ . | quote }}, defaultMode: 0440 }
{{- end }}
{{- if last . }}
{{- with $values.tls.secretName }}
- name: tls
  secret: { secretName: {{ . | quote }}, defaultMode: 0440 }
{{- end }}
{{- with $values.tls.clientsSecretName }}
- name: clients
  secret: { secretName: {{ . | quote }}, defaultMode: 0440 }
{{- end }}
{{- end }}
{{- end -}}

{{/* Where the pods of a component run. A list: root, component, its values. */}}
{{- define "drover.placement" -}}
{{- $values := last . -}}
{{- $selector := include "drover.selector" (list (first .) (index . 1)) -}}
topologySpreadConstraints:
{{- if $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $selector | nindent 8 }}
{{- end }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* /healthz says that the process is alive, /readyz that it may be sent work. A list: root, port. */}}
{{- define "drover.probes" -}}
{{- $scheme := include "drover.scheme" (first .) -}}
{{- $port := last . -}}
startupProbe:
  httpGet: { path: /healthz, port: {{ $port }}, scheme: {{ $scheme }} }
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: { path: /healthz, port: {{ $port }}, scheme: {{ $scheme }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: /readyz, port: {{ $port }}, scheme: {{ $scheme }} }
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}
