package policy

import (
	"reflect"
	"slices"
	"testing"
)

func TestGroup_Over(t *testing.T) {
	s := Group{Latency: &Latency{Min: 1}}.Over(Group{Latency: &Latency{Min: 2}, Fault: &Fault{Type: "empty"}, RateLimit: &RateLimit{}})
	if s.Latency.Min != 1 || s.Fault == nil || s.RateLimit == nil || s.Capacity != nil {
		t.Errorf("over others: %+v", s)
	}
	if want := []string{"latency", "fault", "rate-limit"}; !slices.Equal(s.Keys(), want) {
		t.Errorf("keys %q, want %q", s.Keys(), want)
	}
}

// Each policy has a key of the same name.
func TestGroup_HasTheKeys(t *testing.T) {
	all := Group{Latency: &Latency{}, Fault: &Fault{}, RateLimit: &RateLimit{}, Capacity: &Capacity{}}
	if v := reflect.ValueOf(all); slices.ContainsFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return v.FieldByIndex(f.Index).IsNil() }) {
		t.Fatalf("a policy is missing in %+v", all)
	}
	var keys []string
	for _, f := range slices.Concat(ResponseKeys[Group](), LimitKeys[Group]("requests")) {
		keys = append(keys, f.Key)
	}
	if !slices.Equal(keys, all.Keys()) {
		t.Errorf("keys %q, policies %q", keys, all.Keys())
	}
}
