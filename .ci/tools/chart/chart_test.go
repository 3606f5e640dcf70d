// Package chart is a command for the tests of the chart, which build it with go test -c. It lints
// and renders a Helm chart as Helm does, once for each values file, and strictly decodes the result
// as Kubernetes objects.
//
//	chart DIR VALUES…
//
// It prints, as JSON, a list with an entry for each values file. The namespace is "load", and the
// release is named "mock". The exit code is 1 if the chart or a file cannot be read.
package chart

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	strict "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// result is the result for one values file.
type result struct {
	Lint    []string          // messages of the linter, except INFO, such as the recommendation of an icon
	Error   string            // why nothing is rendered: invalid values, or an error in a template
	Strict  []string          // what is wrong with objects: unknown and repeated fields, values of other types
	Objects []json.RawMessage // as they are sent to Kubernetes
	Notes   string
}

// kinds contains constructors of the objects that a chart may create, by apiVersion and kind.
var kinds = map[string]func() any{
	"apps/v1 Deployment":                      func() any { return new(apps.Deployment) },
	"apps/v1 StatefulSet":                     func() any { return new(apps.StatefulSet) },
	"autoscaling/v2 HorizontalPodAutoscaler":  func() any { return new(autoscaling.HorizontalPodAutoscaler) },
	"gateway.networking.k8s.io/v1 HTTPRoute":  func() any { return new(gateway.HTTPRoute) },
	"monitoring.coreos.com/v1 PodMonitor":     func() any { return new(monitoring.PodMonitor) },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return new(monitoring.PrometheusRule) },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return new(monitoring.ServiceMonitor) },
	"networking.k8s.io/v1 Ingress":            func() any { return new(networking.Ingress) },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return new(networking.NetworkPolicy) },
	"policy/v1 PodDisruptionBudget":           func() any { return new(policy.PodDisruptionBudget) },
	"v1 ConfigMap":                            func() any { return new(core.ConfigMap) },
	"v1 Service":                              func() any { return new(core.Service) },
}

// TestMain is the whole command: there are no tests here.
func TestMain(*testing.M) {
	if len(os.Args) < 3 {
		fail(errors.New("usage: chart DIR VALUES…"))
	}
	log.SetOutput(io.Discard) // Helm logs every file that is a link
	var results []result
	for _, file := range os.Args[2:] {
		values, err := chartutil.ReadValuesFile(file)
		if err != nil {
			fail(err)
		}
		// Rendering changes a chart, so it is loaded again for each values file.
		read, err := loader.Load(os.Args[1])
		if err != nil {
			fail(err)
		}
		results = append(results, try(os.Args[1], read, values))
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "chart:", err)
	os.Exit(1)
}

func try(dir string, read *chart.Chart, values chartutil.Values) (r result) {
	for _, m := range lint.All(dir, values, "load", true).Messages {
		if m.Severity > support.InfoSev {
			r.Lint = append(r.Lint, m.Error())
		}
	}
	release := chartutil.ReleaseOptions{Name: "mock", Namespace: "load", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(read, values, release, nil)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	files, err := engine.Render(read, all)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	for name, text := range files {
		if path.Base(name) == "NOTES.txt" {
			r.Notes = text
			delete(files, name)
		}
	}
	_, manifests, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	for _, m := range manifests {
		r.decode(m.Name, m.Content)
	}
	return r
}

// decode adds the object in text to r, and what is wrong with it.
func (r *result) decode(file, text string) {
	object, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		r.Strict = append(r.Strict, file+": "+err.Error())
		return
	}
	r.Objects = append(r.Objects, object)
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(object, &head); err != nil {
		r.Strict = append(r.Strict, file+": "+err.Error())
		return
	}
	make, ok := kinds[head.APIVersion+" "+head.Kind]
	if !ok {
		r.Strict = append(r.Strict, fmt.Sprintf("%s: unknown kind %s %s", file, head.APIVersion, head.Kind))
		return
	}
	wrong, err := strict.UnmarshalStrict(object, make())
	for _, err := range slices.Concat(wrong, []error{err}) {
		if err != nil {
			r.Strict = append(r.Strict, strings.Join([]string{file, head.Kind, err.Error()}, ": "))
		}
	}
}
