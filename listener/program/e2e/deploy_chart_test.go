//go:build unix && !race

package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"mockserver/config/settings"
	"mockserver/internal/harness"
)

// rendered is the output of .ci/tools/chart for the chart with some values. The tool renders as
// Helm does.
type rendered struct {
	name         string
	Lint, Strict []string
	Error, Notes string
	Objects      []json.RawMessage
}

// renderChart renders the chart with each of the given values, by name.
func renderChart(t *testing.T, values map[string]string) map[string]rendered {
	t.Helper()
	if testing.Short() {
		t.Skip("takes a while, because it builds Helm")
	}
	names := slices.Sorted(maps.Keys(values))
	dir, args := t.TempDir(), []string{File("deploy/chart")}
	for i, name := range names {
		args = append(args, harness.WriteFile(t, dir, fmt.Sprint(i, ".yml"), values[name]))
	}
	tool := exec.Command(builtTool(t, ".ci/tools/chart"), args...)
	tool.Stderr = new(strings.Builder)
	out, err := tool.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, tool.Stderr)
	}
	var all []rendered
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	results := map[string]rendered{}
	for i, name := range names {
		all[i].name = name
		results[name] = all[i]
	}
	return results
}

// fine fails the test if something is wrong with the chart and its values.
func (r rendered) fine(t *testing.T) rendered {
	t.Helper()
	if r.Error != "" || len(r.Lint) > 0 || len(r.Strict) > 0 || len(r.Objects) == 0 {
		t.Fatalf("%s: %d objects; error %s; the linter: %q; strictly: %q", r.name, len(r.Objects), r.Error, r.Lint, r.Strict)
	}
	return r
}

// kubeObject is an object of Kubernetes, or a part of one.
type kubeObject map[string]any

// at follows a path such as spec/template; it returns nil if nothing is there.
func (o kubeObject) at(path string) any {
	var found any = map[string]any(o)
	for step := range strings.SplitSeq(path, "/") {
		m, _ := found.(map[string]any)
		found = m[step]
	}
	return found
}

func (o kubeObject) text(path string) string { return fmt.Sprint(o.at(path)) }

// list returns the maps of a list.
func (o kubeObject) list(path string) (all []kubeObject) {
	items, _ := o.at(path).([]any)
	for _, item := range items {
		all = append(all, kubeObject(item.(map[string]any)))
	}
	return all
}

func (r rendered) trees(t *testing.T) (all []kubeObject) {
	t.Helper()
	for _, text := range r.Objects {
		var one kubeObject
		if err := json.Unmarshal(text, &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// one returns the object with a kind and a name; the suffix "" means mock-mockserver.
func (r rendered) one(t *testing.T, kind, suffix string) kubeObject {
	t.Helper()
	for _, o := range r.trees(t) {
		if o.text("kind") == kind && o.text("metadata/name") == "mock-mockserver"+suffix {
			return o
		}
	}
	t.Fatalf("%s: there is no %s mock-mockserver%s", r.name, kind, suffix)
	return nil
}

// kinds returns the kinds of the objects, in the order of installation.
func (r rendered) kinds(t *testing.T) (all []string) {
	t.Helper()
	for _, o := range r.trees(t) {
		all = append(all, o.text("kind"))
	}
	return all
}

// pod returns the template of the pods.
func (r rendered) pod(t *testing.T) kubeObject {
	t.Helper()
	for _, o := range r.trees(t) {
		if template, ok := o.at("spec/template").(map[string]any); ok {
			return template
		}
	}
	t.Fatalf("%s: nothing makes pods", r.name)
	return nil
}

func (r rendered) container(t *testing.T) kubeObject { return r.pod(t).list("spec/containers")[0] }

// variables returns the environment variables of the container; for a variable with valueFrom, the
// source of its value.
func (r rendered) variables(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, v := range r.container(t).list("env") {
		all[v.text("name")] = fmt.Sprint(v["value"])
		if from := v.at("valueFrom/secretKeyRef"); from != nil {
			all[v.text("name")] = fmt.Sprint(from)
		}
	}
	return all
}

// documentedValues returns the values of the chart that the manual tells its readers to write.
func documentedValues(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(File("docs/kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, block := range regexp.MustCompile("(?s)`([a-z]+\\.yml)`[^`]*:\n\n```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		values[block[1]] = block[2]
	}
	if count := strings.Count(string(text), "```yaml"); len(values) != count || count == 0 {
		t.Fatalf("got %d files of values of %d blocks", len(values), count)
	}
	return values
}

// everything contains values that make the chart create every object that one release can contain.
const everything = `
image: {tag: v1.2.3}
imagePullSecrets: [{name: registry}]
commonLabels: {team: load}
replicas: 3
configChecksum: true
args: [--server-timing]
env: [{name: TZ, value: UTC}]
envFrom: [{secretRef: {name: more}}]
admin: {port: 9001, token: {existingSecret: tokens, key: admin}}
tls: {enabled: true, existingSecret: certificate, only: true, clientCA: {existingSecret: ca}, ticketKeys: {existingSecret: tickets}}
persistence: {enabled: true, storageClass: fast, annotations: {a: b}, state: true}
service: {type: LoadBalancer, annotations: {a: b}}
networkPolicy: {enabled: true, adminNamespaces: [monitoring], trafficFrom: [{podSelector: {matchLabels: {app: k6}}}]}
ingress: {enabled: true, className: nginx, annotations: {a: b}, hosts: [a.example.com, b.example.com], tls: [{hosts: [a.example.com], secretName: s}]}
httpRoute: {enabled: true, annotations: {a: b}, parentRefs: [{name: gw}], hostnames: [a.example.com]}
autoscaling: {enabled: true}
podMonitor: {enabled: true, labels: {a: b}, relabelings: [{action: labeldrop, regex: x}], metricRelabelings: [{action: drop, sourceLabels: [__name__], regex: go_.*}]}
prometheusRule: {enabled: true, labels: {a: b}}
dashboard: {enabled: true, annotations: {a: b}}
serviceAccountName: someone
podAnnotations: {a: b}
podLabels: {c: d}
nodeSelector: {pool: load}
tolerations: [{key: k, operator: Exists}]
affinity: {nodeAffinity: {}}
priorityClassName: high
extraVolumes: [{name: more, emptyDir: {}}]
extraVolumeMounts: [{name: more, mountPath: /more}]
`

func TestChart_IsLintedRenderedAndStrictlyOfKubernetes(t *testing.T) {
	t.Parallel()
	values := documentedValues(t)
	values["nothing"] = ""
	values["everything"] = everything
	values["a ServiceMonitor"] = "serviceMonitor: {enabled: true, labels: {a: b}, metricRelabelings: [{action: drop, regex: x}]}\n"
	values["as little as possible"] = "existingConfigMap: mine\npodDisruptionBudget: {enabled: false}\ntopologySpread: {enabled: false}\npreStopSeconds: 0\nresources: null\n"
	values["a digest"] = "image: {digest: 'sha256:" + strings.Repeat("0a", 32) + "'}\nfullnameOverride: other\ncommonLabels: null\n"
	for name, r := range renderChart(t, values) {
		r.fine(t)
		if !strings.Contains(r.Notes, "The pods need the image ") {
			t.Errorf("%s: the notes do not say which image is needed: %s", name, r.Notes)
		}
		if !strings.Contains(r.Notes, "port-forward") {
			t.Errorf("%s: the notes do not explain how to reach the server: %s", name, r.Notes)
		}
		r.agrees(t)
	}
}

// agrees checks that every reference matches the object that it refers to.
func (r rendered) agrees(t *testing.T) {
	t.Helper()
	labels, _ := r.pod(t).at("metadata/labels").(map[string]any)
	ports := map[string]bool{}
	for _, port := range r.container(t).list("ports") {
		ports[port.text("name")] = true
	}
	volumes := map[string]bool{}
	for _, volume := range r.pod(t).list("spec/volumes") {
		volumes[volume.text("name")] = true
	}
	services, configMaps := map[string]kubeObject{}, map[string]bool{}
	for _, o := range r.trees(t) {
		switch o.text("kind") {
		case "Service":
			services[o.text("metadata/name")] = o
		case "ConfigMap":
			configMaps[o.text("metadata/name")] = true
		case "StatefulSet":
			for _, claim := range o.list("spec/volumeClaimTemplates") {
				volumes[claim.text("metadata/name")] = true
			}
		}
	}
	for _, mount := range r.container(t).list("volumeMounts") {
		if !volumes[mount.text("name")] || mount["subPath"] != nil {
			t.Errorf("%s: no volume for %v, or it would not change", r.name, mount)
		}
	}
	for _, o := range r.trees(t) {
		what := r.name + ": " + o.text("kind") + " " + o.text("metadata/name")
		if o.text("metadata/namespace") != "load" {
			t.Errorf("%s is in the namespace %s", what, o.text("metadata/namespace"))
		}
		selected := labels
		if o.text("kind") == "ServiceMonitor" {
			selected, _ = services["mock-mockserver-headless"].at("metadata/labels").(map[string]any)
		}
		for _, path := range []string{"spec/selector", "spec/selector/matchLabels", "spec/podSelector/matchLabels"} {
			wanted, ok := o.at(path).(map[string]any)
			if ok && wanted["matchLabels"] == nil && (len(wanted) == 0 || !contains(selected, wanted)) {
				t.Errorf("%s selects %v, there is %v", what, wanted, selected)
			}
		}
		for _, port := range append(o.list("spec/podMetricsEndpoints"), o.list("spec/endpoints")...) {
			if !ports[port.text("port")] {
				t.Errorf("%s asks the port %s", what, port.text("port"))
			}
		}
		for _, port := range o.list("spec/ports") {
			if !ports[port.text("targetPort")] {
				t.Errorf("%s leads to the port %s", what, port.text("targetPort"))
			}
		}
		if name := o.at("spec/serviceName"); name != nil && services[fmt.Sprint(name)] == nil {
			t.Errorf("%s belongs to the Service %v", what, name)
		}
		for _, rule := range o.list("spec/rules") {
			for _, back := range rule.list("backendRefs") {
				if s := services[back.text("name")]; s == nil || s.list("spec/ports")[0].text("port") != back.text("port") {
					t.Errorf("%s leads to %v", what, back)
				}
			}
			for _, way := range rule.list("http/paths") {
				if s := services[way.text("backend/service/name")]; s == nil || s.list("spec/ports")[0].text("name") != way.text("backend/service/port/name") {
					t.Errorf("%s leads to %v", what, way)
				}
			}
		}
	}
	if name := r.pod(t).list("spec/volumes")[0].text("configMap/name"); !configMaps[name] && name != "mine" {
		t.Errorf("%s: there is no ConfigMap %s", r.name, name)
	}
}

func contains(all, some map[string]any) bool {
	for key, value := range some {
		if all[key] != value {
			return false
		}
	}
	return true
}

func TestChart_WhatItSaysIsWhatTheProgramTakes(t *testing.T) {
	t.Parallel()
	all := renderChart(t, map[string]string{"nothing": "", "everything": everything})
	c := readDockerfile(t, File()).Config
	r := all["nothing"].fine(t)
	box, pod := r.container(t), r.pod(t)
	if got := r.kinds(t); !slices.Equal(got, []string{"PodDisruptionBudget", "ConfigMap", "Service", "Service", "Deployment"}) {
		t.Errorf("without values it makes %q", got)
	}
	if box.text("image") != "mockserver:latest" || box.text("imagePullPolicy") != "IfNotPresent" {
		t.Errorf("it runs %v, pulled %v", box["image"], box["imagePullPolicy"])
	}
	uid, gid, _ := strings.Cut(c.User, ":")
	if pod.text("spec/securityContext/runAsUser") != uid || pod.text("spec/securityContext/runAsGroup") != gid ||
		pod.at("spec/securityContext/runAsNonRoot") != true || box.at("securityContext/readOnlyRootFilesystem") != true ||
		box.at("securityContext/allowPrivilegeEscalation") != false || box.text("securityContext/capabilities") != "map[drop:[ALL]]" {
		t.Errorf("it runs as %v with %v, the image as %s", pod.at("spec/securityContext"), box.at("securityContext"), c.User)
	}
	if pod.at("spec/enableServiceLinks") != false || pod.at("spec/automountServiceAccountToken") != false {
		t.Error("a Service sets variables that begin like ours, or it gets a token of the cluster")
	}
	// It starts on a small cluster, and no CPU limit throttles it.
	if got := box.text("resources"); got != "map[limits:map[memory:512Mi] requests:map[cpu:100m memory:64Mi]]" {
		t.Errorf("it has %s", got)
	}
	mount := box.list("volumeMounts")[0]
	file := configurationOf(t, c.Env)
	if mount.text("mountPath") != c.WorkingDir || filepath.Dir(file) != c.WorkingDir {
		t.Errorf("it mounts %v, the image reads %s", mount, file)
	}
	text, _ := r.one(t, "ConfigMap", "").at("data").(map[string]any)[filepath.Base(file)].(string)
	variables := r.variables(t)
	port := box.list("ports")[1].text("containerPort")
	if _, ok := c.ExposedPorts[box.list("ports")[0].text("containerPort")+"/tcp"]; !ok || variables["MOCKSERVER_ADMIN"] != ":"+port {
		t.Errorf("ports %v, the image exposes %v, the admin address is %s", box["ports"], c.ExposedPorts, variables["MOCKSERVER_ADMIN"])
	}
	admin := served(t, variables, harness.WriteFile(t, t.TempDir(), "mockserver.yml", text))
	for _, name := range []string{"startupProbe", "readinessProbe", "livenessProbe"} {
		if got := admin.Get(box.text(name + "/httpGet/path")); got.Status != 200 || box.text(name+"/httpGet/port") != "admin" {
			t.Errorf("the %s %v is answered %d %s", name, box[name], got.Status, got.Body)
		}
	}
	if grace := pod.at("spec/terminationGracePeriodSeconds").(float64); variables["MOCKSERVER_GRACE"] != "10s" || grace != 5+10+15 {
		t.Errorf("it is killed after %v s, the program takes %s and the pause 5 s", grace, variables["MOCKSERVER_GRACE"])
	}
}

func TestChart_EveryVariableIsOneOfTheProgram(t *testing.T) {
	t.Parallel()
	known := func(variable string) bool { return len(settings.StrayVariables([]string{variable + "=1"})) == 0 }
	for name, r := range renderChart(t, map[string]string{"everything": everything, "a fleet": "replicas: 3\nfleet: {enabled: true}\nadmin: {token: {existingSecret: s}}\n"}) {
		variables := r.fine(t).variables(t)
		for variable, value := range variables {
			if !known(variable) {
				t.Errorf("%s: the program does not know %s", name, variable)
			}
			if strings.HasPrefix(value, "/") && !slices.ContainsFunc(r.container(t).list("volumeMounts"), func(mount kubeObject) bool { return strings.HasPrefix(value, mount.text("mountPath")+"/") }) {
				t.Errorf("%s: %s is %s, below no volume", name, variable, value)
			}
		}
		switch name {
		case "everything":
			if variables["MOCKSERVER_ADMIN_TOKEN"] != "map[key:admin name:tokens]" || variables["TZ"] != "UTC" {
				t.Errorf("got %v", variables)
			}
		case "a fleet":
			if variables["MOCKSERVER_FLEET"] != "dns:mock-mockserver-headless:8001" || variables["MOCKSERVER_FLEET_EXPECT"] != "3" {
				t.Errorf("got %v", variables)
			}
		}
	}
}

func TestChart_RulesAndDashboardAreThoseOfDeploy(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"alerts.yml", "grafana.json"} {
		if to, err := os.Readlink(File("deploy/chart/files", name)); err != nil || to != "../../"+name {
			t.Errorf("chart/files/%s leads to %q (%v): a copy could become different", name, to, err)
		}
	}
	r := renderChart(t, map[string]string{"monitoring": documentedValues(t)["monitoring.yml"]})["monitoring"].fine(t)
	var want, got any
	text, err := os.ReadFile(File("deploy/alerts.yml"))
	if err == nil {
		err = yaml.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	got = r.one(t, "PrometheusRule", "").at("spec")
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	dashboard := r.one(t, "ConfigMap", "-dashboard")
	text, err = os.ReadFile(File("deploy/grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := dashboard.at("data").(map[string]any)["mockserver.json"].(string); strings.TrimSpace(data) != strings.TrimSpace(string(text)) {
		t.Errorf("the dashboard differs: %.200s", data)
	}
	if dashboard.text("metadata/labels/grafana_dashboard") != "1" || dashboard.text("metadata/annotations/grafana_folder") != "Load tests" {
		t.Errorf("got %v", dashboard["metadata"])
	}
	monitor := r.one(t, "PodMonitor", "")
	if monitor.text("metadata/labels/release") != "kube-prometheus-stack" ||
		monitor.list("spec/podMetricsEndpoints")[0].list("relabelings")[0].text("targetLabel") != "instance" {
		t.Errorf("got %v", monitor)
	}
}

func TestChart_WithAVolume(t *testing.T) {
	t.Parallel()
	for name, r := range renderChart(t, map[string]string{"durable": documentedValues(t)["durable.yml"], "webhooks alone": "persistence: {enabled: true}\n", "rows alone": "persistence: {enabled: true, webhooks: false, state: true}\n"}) {
		r.fine(t)
		set := r.one(t, "StatefulSet", "")
		if set.list("spec/volumeClaimTemplates")[0].text("metadata/name") != "data" || set.text("spec/podManagementPolicy") != "Parallel" ||
			set.text("spec/serviceName") != "mock-mockserver-headless" || slices.Contains(r.kinds(t), "Deployment") {
			t.Errorf("%s: got %v", name, set)
		}
		_, webhooks := r.variables(t)["MOCKSERVER_WEBHOOK_STORE"]
		_, rows := r.variables(t)["MOCKSERVER_STATE"]
		if webhooks != (name != "rows alone") || rows != (name != "webhooks alone") {
			t.Errorf("%s: got %v", name, r.variables(t))
		}
	}
	r := renderChart(t, map[string]string{"scaled": "persistence: {enabled: true}\nautoscaling: {enabled: true}\n"})["scaled"].fine(t)
	if scaler := r.one(t, "HorizontalPodAutoscaler", ""); scaler.text("spec/scaleTargetRef/kind") != "StatefulSet" || r.one(t, "StatefulSet", "").at("spec/replicas") != nil {
		t.Errorf("got %v", scaler)
	}
}

func TestChart_OnlyTheGivenNamespacesReachTheAdminAddress(t *testing.T) {
	t.Parallel()
	r := renderChart(t, map[string]string{"closed": documentedValues(t)["closed.yml"]})["closed"].fine(t)
	rules := r.one(t, "NetworkPolicy", "").list("spec/ingress")
	if len(rules) != 2 || rules[0].text("ports") != "[map[port:http]]" || rules[0]["from"] != nil || rules[1].text("ports") != "[map[port:admin]]" {
		t.Fatalf("got %v", rules)
	}
	var from []string
	for _, peer := range rules[1].list("from") {
		from = append(from, fmt.Sprint(peer.at("namespaceSelector/matchLabels")))
	}
	want := []string{"<nil>", "map[kubernetes.io/metadata.name:monitoring]", "map[kubernetes.io/metadata.name:ci]"}
	if !slices.Equal(from, want) || rules[1].list("from")[0].at("podSelector/matchLabels") == nil {
		t.Errorf("the admin address is open to %q, want %q, the first of them the pods themselves", from, want)
	}
}

func TestChart_APodIsReplacedForItsConfigurationOnlyIfAsked(t *testing.T) {
	t.Parallel()
	all := renderChart(t, map[string]string{
		"": "", "other": "config: {mockserver.yml: '[]'}\n",
		"asked": "configChecksum: true\n", "asked other": "configChecksum: true\nconfig: {mockserver.yml: '[]'}\n",
	})
	pods := map[string]kubeObject{}
	for name, r := range all {
		pods[name] = r.fine(t).pod(t)
	}
	if !reflect.DeepEqual(pods[""], pods["other"]) {
		t.Error("another configuration replaces pods")
	}
	if sum := pods["asked"].at("metadata/annotations"); sum == nil || reflect.DeepEqual(sum, pods["asked other"].at("metadata/annotations")) {
		t.Errorf("another configuration does not replace pods: %v", sum)
	}
}

func TestChart_WhatIsRefused(t *testing.T) {
	t.Parallel()
	wrong := []struct{ values, says string }{
		{"replica: 3", "replica"},
		{"persistence: {enable: true}", "enable"},
		{"replicas: three", "replicas"},
		{"replicas: -1", "replicas"},
		{"admin: {port: 0}", "port"},
		{"config: {}", ""}, // Helm merges it with the default, so it renders
		{"config: {a/b.yml: x}", "a/b.yml"},
		{"image: {pullPolicy: Sometimes}", "pullPolicy"},
		{"image: {digest: abc}", "digest"},
		{"persistence: {accessModes: [ReadWriteMany]}", "accessModes"},
		{"podMonitor: {interval: 5}", "interval"},
		{"tls: {enabled: true}", "tls.existingSecret"},
		{"httpRoute: {enabled: true}", "parentRefs"},
		{"podMonitor: {enabled: true}\nserviceMonitor: {enabled: true}", "twice"},
		{"fleet: {enabled: true}", "admin.token.existingSecret"},
		{"nats: {enabled: true}", "each replica counts by itself"},
		{"sharedState: {url: 'nats://nats:4222'}", "each replica counts by itself"},
		{"sharedState: {existingSecret: nats}", "each replica counts by itself"},
		{"nats: {enabled: false}\nsharedState: {url: ''}", ""}, // former defaults, which --reuse-values repeats
	}
	values := map[string]string{}
	for _, w := range wrong {
		values[w.values] = w.values + "\n"
	}
	for values, r := range renderChart(t, values) {
		says := wrong[slices.IndexFunc(wrong, func(w struct{ values, says string }) bool { return w.values == values })].says
		if says == "" {
			r.fine(t)
		} else if r.Error == "" || !strings.Contains(r.Error, says) || len(r.Objects) > 0 {
			t.Errorf("%s: got %d objects and %q, want an error that names %s", values, len(r.Objects), r.Error, says)
		}
	}
}

// chartRows returns the rows of the README's table: each value with a comment that begins with
// "--".
func chartRows(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(File("deploy/chart/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	var walk func(at string, m *yaml.Node)
	walk = func(at string, m *yaml.Node) {
		for i := 0; i+1 < len(m.Content); i += 2 {
			key, value := m.Content[i], m.Content[i+1]
			name := strings.TrimPrefix(at+"."+key.Value, ".")
			doc := strings.Join(strings.Split(key.HeadComment, "\n# "), " ")
			doc, ok := strings.CutPrefix(doc, "# -- ")
			if !ok {
				if value.Kind != yaml.MappingNode || len(value.Content) == 0 {
					t.Errorf("values.yaml:%d: %s has no comment that begins with --", key.Line, name)
				}
				walk(name, value)
				continue
			}
			var v any
			if err := value.Decode(&v); err != nil {
				t.Fatal(err)
			}
			standard, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			shown := "`" + string(standard) + "`"
			if name == "config" {
				shown = "an example"
			}
			fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", name, shown, doc)
		}
	}
	walk("", document.Content[0])
	return rows.String()
}

func TestChart_README(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(File("deploy/chart/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(text), "|---|---|---|\n")
	want := head + "|---|---|---|\n" + chartRows(t)
	if !ok {
		t.Fatal("there is no table")
	}
	if want == string(text) {
		return
	}
	if os.Getenv("MOCKSERVER_UPDATE") == "" {
		t.Fatal("chart/README.md does not match values.yaml; update it with MOCKSERVER_UPDATE=1 go test -run TestChart_README ./listener/program/e2e")
	}
	if err := os.WriteFile(File("deploy/chart/README.md"), []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
