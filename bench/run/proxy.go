package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// target is what load is sent to: a proxy, or the generator itself.
type target struct {
	name  string
	host  string
	admin string // aguigate's admin listener
	proc  *process
	path  func(scenario) string
	// counted are the events clients have had of it, by scenario.
	counted map[string]int
}

// bench is what all targets share.
type bench struct {
	dir       string // for programs, configuration, logs
	generator *target
	proxyCore int
	restCore  int
	agents    []scenario
	buffer    string // nginx proxy_buffer_size
}

func (b *bench) startGenerator(ctx context.Context) error {
	p, err := launch(ctx, b.restCore, b.dir, filepath.Join(b.dir, "generator"))
	if err != nil {
		return err
	}
	host, err := p.line("generator ready ")
	if err != nil {
		p.stop()
		return err
	}
	b.generator = &target{name: "direct", host: host, proc: p, path: scenario.generatorPath, counted: map[string]int{}}
	return nil
}

// nginx is one worker that passes each event on as it comes.
func (b *bench) nginx(ctx context.Context) (*target, error) {
	host, err := freePort()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "nginx-")
	if err != nil {
		return nil, err
	}
	conf, err := b.nginxConf(dir, host)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		return nil, err
	}
	p, err := launch(ctx, b.proxyCore, b.dir, "nginx", "-p", dir, "-c", file, "-e", "stderr")
	if err != nil {
		return nil, err
	}
	t := &target{name: "nginx", host: host, proc: p, path: scenario.path, counted: map[string]int{}}
	if err := answers(ctx, host); err != nil {
		defer p.stop()
		return nil, fmt.Errorf("nginx: %w: %s", err, p.said())
	}
	return t, nil
}

func (b *bench) nginxConf(dir, host string) (string, error) {
	me, err := user.Current()
	if err != nil {
		return "", err
	}
	var c strings.Builder
	if me.Uid == "0" {
		// Otherwise the worker becomes nobody and cannot enter the directory.
		c.WriteString("user root root;\n")
	}
	fmt.Fprintf(&c, `daemon off;
worker_processes 1;
pid %[1]s/pid;
error_log stderr warn;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
  keepalive_requests 1000000;
  upstream generator { server %[2]s; keepalive 600; keepalive_requests 1000000; }
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_buffering off;
  proxy_buffer_size %[3]s;
  proxy_buffers 4 %[3]s;
  proxy_read_timeout 1h;
  server {
    listen %[4]s backlog=1024;
`, dir, b.generator.host, b.buffer, host)
	for _, s := range b.agents {
		fmt.Fprintf(&c, "    location = %s { proxy_pass http://generator%s; }\n", s.path(), s.generatorPath())
	}
	c.WriteString("  }\n}\n")
	return c.String(), nil
}

// aguigate runs as somebody would run it: store on disk, defaults everywhere.
func (b *bench) aguigate(ctx context.Context) (*target, error) {
	dir, err := os.MkdirTemp(b.dir, "aguigate-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "aguigate.yaml")
	if err := os.WriteFile(file, []byte(b.aguigateConf(dir)), 0o600); err != nil {
		return nil, err
	}
	p, err := launch(ctx, b.proxyCore, b.dir, filepath.Join(b.dir, "aguigate"), "serve", "--config", file, "--log-level", "warn")
	if err != nil {
		return nil, err
	}
	ready, err := p.line("aguigate ready ")
	if err != nil {
		p.stop()
		return nil, err
	}
	t := &target{name: "aguigate", proc: p, path: scenario.path, counted: map[string]int{}}
	for _, field := range strings.Fields(ready) {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "listen":
			t.host = value
		case "admin":
			t.admin = value
		}
	}
	return t, nil
}

func (b *bench) aguigateConf(dir string) string {
	var c strings.Builder
	fmt.Fprintf(&c, "listen: 127.0.0.1:0\nadmin: {listen: 127.0.0.1:0}\nstore: {nats: embedded, dir: %q}\nagents:\n", filepath.Join(dir, "data"))
	for _, s := range b.agents {
		fmt.Fprintf(&c, "  %s:\n    upstream: {kind: agui, url: %q}\n", s.name, "http://"+b.generator.host+s.generatorPath())
	}
	return c.String()
}

// agrees compares aguigate's own count of events sent down with the clients'.
func (t *target) agrees(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+t.admin+"/metrics", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	for name, events := range t.counted {
		line := fmt.Sprintf("\naguigate_events_total{agent=%q,direction=\"down\"} %s\n", name, strconv.FormatFloat(float64(events), 'g', -1, 64))
		if !strings.Contains(string(page), line) {
			return fmt.Errorf("clients counted %d events of %s, aguigate's metrics say otherwise", events, name)
		}
	}
	return nil
}

// freePort is an address of loopback nobody listens on now.
func freePort() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// answers waits until somebody accepts connections at host.
func answers(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
