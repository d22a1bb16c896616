package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const deploy = "../../deploy"

// What deploy/ tells people to paste is what nginx and Prometheus accept.
func TestDeployExamples(t *testing.T) {
	dir := t.TempDir()
	snippet, err := os.ReadFile(filepath.Join(deploy, "nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	host, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	const listen = "listen 80;"
	if !strings.Contains(string(snippet), listen) {
		t.Fatalf("no %q to replace: the test would need port 80", listen)
	}
	conf := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf("pid %s/pid; error_log stderr; events {}\nhttp { access_log off; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;\n%[2]s\n}\n",
		dir, strings.Replace(string(snippet), listen, "listen "+host+";", 1))
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"nginx", "-t", "-e", "stderr", "-c", conf},
		{"promtool", "check", "config", filepath.Join(deploy, "prometheus.yml")},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}
