//go:build unix && !race

package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// The NATS servers that the chart installs have the version that these tests use. Among the objects
// of the chart, only the pods use them.
func TestChart_InstallsNATS(t *testing.T) {
	t.Parallel()
	all := renderChart(t, map[string]string{
		"documented": documentedValues(t)["nats.yml"],
		"one":        "nats: {enabled: true, replicas: 1}\npersistence: {enabled: true}\n",
		"long":       "nats: {enabled: true}\nfullnameOverride: " + strings.Repeat("a", 63) + "\n",
		"closed":     "nats: {enabled: true}\nnetworkPolicy: {enabled: true}\n",
		"other":      "nats: {enabled: true}\nsharedState: {url: 'nats://mine:4222'}\n",
	})
	for _, name := range []string{"documented", "one"} {
		r := all[name].fine(t)
		if got := r.variables(t)["MOCKSERVER_SHARED_STATE"]; got != "nats://mock-mockserver-nats:4222" {
			t.Errorf("%s: the shared state is %q", name, got)
		}
		if got := r.variables(t)["MOCKSERVER_WEBHOOK_STORE"]; got != map[string]string{"one": "/var/lib/mockserver/webhooks"}[name] {
			t.Errorf("%s: the webhook store is %q", name, got)
		}
		set, service := r.one(t, "StatefulSet", "-nats"), r.one(t, "Service", "-nats")
		pods := set.at("spec/template/metadata/labels").(map[string]any)
		for what, selector := range map[string]any{
			"the set": set.at("spec/selector/matchLabels"), "the Service": service.at("spec/selector"),
			"the budget": r.one(t, "PodDisruptionBudget", "-nats").at("spec/selector/matchLabels"),
		} {
			if labels, _ := selector.(map[string]any); !reflect.DeepEqual(labels, pods) {
				t.Errorf("%s: %s selects %v, the pods have %v", name, what, selector, pods)
			}
		}
		if mine := r.one(t, "Service", "").at("spec/selector").(map[string]any); contains(pods, mine) {
			t.Errorf("%s: the Service for traffic leads to %v", name, pods)
		}
		container := kubeObject(set.at("spec/template").(map[string]any)).list("spec/containers")[0]
		module, err := os.ReadFile(File(".ci/tools/go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if version := strings.TrimSuffix(strings.TrimPrefix(container.text("image"), "nats:"), "-alpine"); !strings.Contains(string(module), "nats-server/v2 v"+version+"\n") {
			t.Errorf("%s: the image %s is not the version that is tested", name, container.text("image"))
		}
	}
	if got := all["other"].fine(t).variables(t); got["MOCKSERVER_SHARED_STATE"] != "nats://mine:4222" {
		t.Errorf("the variables are %v", got)
	}
	for _, o := range all["long"].fine(t).trees(t) {
		if name := o.text("metadata/name"); o.text("kind") == "StatefulSet" && len(name) > 52 {
			t.Errorf("the StatefulSet %s has %d characters, more than 52", name, len(name))
		}
	}
	rules := all["closed"].fine(t).one(t, "NetworkPolicy", "-nats").list("spec/ingress")
	if got := fmt.Sprint(rules[0].list("from")[0].at("podSelector/matchLabels")); len(rules) != 2 || got != fmt.Sprint(all["closed"].one(t, "Deployment", "").at("spec/selector/matchLabels")) {
		t.Errorf("the servers are open to %v", rules)
	}
	startNATSOf(t, all["one"], 1)
	startNATSOf(t, all["documented"], 3)
}

// startNATSOf starts servers with the configuration file of the chart, on ports and in directories of
// this machine.
func startNATSOf(t *testing.T, r rendered, n int) {
	t.Helper()
	conf := kubeObject(r.one(t, "ConfigMap", "-nats").at("data").(map[string]any)).text("nats.conf")
	if routes := strings.Count(conf, "nats://"); routes != n && n > 1 || n == 1 && routes > 0 {
		t.Fatalf("%d routes for %d servers in\n%s", routes, n, conf)
	}
	places := []string{"0.0.0.0:8222", "127.0.0.1:-1", "0.0.0.0:4222", "127.0.0.1:-1"}
	routed := harness.UnusedAddresses(t, n)
	for i, address := range routed {
		places = append(places, fmt.Sprintf("mock-mockserver-nats-%d.mock-mockserver-nats:6222", i), address)
	}
	dir := t.TempDir()
	var all []string
	for i := range n {
		name := fmt.Sprint("nats-", i)
		mine := append([]string{"0.0.0.0:6222", routed[i], "$POD_NAME", name, "/data", filepath.ToSlash(filepath.Join(dir, name))}, places...)
		all = append(all, harness.WriteFile(t, dir, name+".conf", strings.NewReplacer(mine...).Replace(conf)))
	}
	startNATS(t, all...)
}
