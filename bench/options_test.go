package bench

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReadOptionsRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		want []string // parts of the message
	}{
		{"--rte 5", []string{"--rte: no such flag (did you mean --rate?)"}},
		{"--round", []string{"--round: no such flag (did you mean --rounds?)"}},
		{"-x", []string{"-x: no such flag"}},
		{"static", []string{`"static": no such file or directory`}},
		{"--rate", []string{"--rate: missing value"}},
		{"--rate --list", []string{"--rate: missing value"}},
		{"--rate fast", []string{`--rate: "fast" is not valid`}},
		{"--rate 0", []string{`--rate: "0" is not valid`}},
		{"--rate NaN", []string{`--rate: "NaN" is not valid`}},
		{"--rate 201%", []string{`--rate: "201%" is not valid`}},
		{"--rate 5 --rate 6", []string{"--rate: given twice"}},
		{"--rounds 0", []string{`--rounds: "0" is not valid`}},
		{"--rounds 1.5", []string{`--rounds: "1.5" is not valid`}},
		{"--duration 1ms", []string{`--duration: "1ms" is not valid`}},
		{"--duration NaN", []string{`--duration: "NaN" is not valid`}},
		{"--connections 0", []string{`--connections: "0" is not valid`}},
		{"--json " + dir + "/no/r.json", []string{"does not exist"}},
		{"--json " + dir, []string{"not a regular file"}},
		{"--endpoint /a", []string{"--endpoint can only be used with --config"}},
		{"-c a.yml --scenario path", []string{"--config and --scenario exclude each other"}},
		{"--scenario statik", []string{`no scenario is named "statik" (did you mean "static"?)`}},
		{"--rival a={port} --rate 5", []string{"--rival and --rate exclude each other"}},
		{"--scenario stream --rate 5", []string{"--scenario stream and --rate exclude each other"}},
		{"--scenario path,stream --rival a={port}", []string{"--scenario stream and --rival exclude each other"}},
		{"--rival a=nginx", []string{`--rival: "a=nginx" is not valid`, "{port}"}},
		{"--rival bare={port}", []string{`--rival: two servers are named "bare"`}},
		{"--rival a={port} --rival a={port}", []string{`--rival: two servers are named "a"`}},
		{"--rounds x --rate y", []string{"--rounds:", "\n--rate:"}},
	} {
		_, err := ReadOptions(strings.Fields(c.args))
		if err == nil {
			t.Errorf("%s: accepted", c.args)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q\nlacks %q", c.args, err, part)
			}
		}
	}
}

func TestReadOptions(t *testing.T) {
	o, err := ReadOptions(strings.Fields("--scenario static,path --scenario=json --rate 80% --connections 5 --json " + filepath.Join(t.TempDir(), "r.json") + " -- --access-log"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Scenarios, []string{"static", "path", "json"}) || o.Rate != (Rate{Share: 0.8}) || o.Connections != 5 || !slices.Equal(o.Server, []string{"--access-log"}) {
		t.Errorf("got %+v", o)
	}
	if o.Rounds != 5 || o.Duration != 2*time.Second {
		t.Errorf("%d rounds of %s; 5 of 2s are the default with a rate", o.Rounds, o.Duration)
	}
	if o, err := ReadOptions(nil); err != nil || o.Rounds != 5 || o.Duration != 400*time.Millisecond || o.Connections != 64 {
		t.Errorf("without arguments: %+v, %v", o, err)
	}
	if o, err := ReadOptions([]string{"--rival", "n=x --port={port}"}); err != nil || o.Rounds != 8 || o.Duration != 2*time.Second || !slices.Equal(o.Rivals, []Rival{{"n", "x --port={port}"}}) {
		t.Errorf("with a rival: %+v, %v", o, err)
	}
	if o, err := ReadOptions(strings.Fields("a.yml -c b.yml --rounds 1 d/")); err != nil || !slices.Equal(o.Config, []string{"a.yml", "b.yml", "d/"}) {
		t.Errorf("files as arguments: %+v, %v", o.Config, err)
	}
	if o, err := ReadOptions([]string{"--bad", "-h"}); err != nil || !o.Help {
		t.Errorf("help is given whatever else is wrong: %+v, %v", o, err)
	}
}

// Every flag is listed in the usage with its description.
func TestUsageListsFlags(t *testing.T) {
	for _, f := range table {
		if want := "--" + f.Name; !strings.Contains(Usage(), want) || !strings.Contains(Usage(), f.Doc) {
			t.Errorf("the usage lacks %s", want)
		}
	}
}
