//go:build unix && !race

package e2e_test

import (
	"os"
	"os/exec"
	"testing"
)

// The clients in Go are in a module of their own, which takes minutes to build.
func TestClients_Go(t *testing.T) {
	t.Parallel()
	tests := exec.Command(builtTool(t, ".ci/tools/clients"), "-test.run", "^(TestOpenAI_(Chat|Models)|TestAnthropic_(Messages|Count))$")
	tests.Env = append(os.Environ(), "OPENAI_URL="+startModel(t, "openai.yml").URL, "ANTHROPIC_URL="+startModel(t, "anthropic.yml").URL)
	if out, err := tests.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
