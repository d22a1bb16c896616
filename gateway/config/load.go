package config

import (
	"io"
	"os"
	"reflect"
)

// Load reads and checks a file. env looks up environment variables and is
// usually os.LookupEnv. The error is a Faults with everything that is wrong, in
// file order [CLI-3].
func Load(file string, env func(string) (string, bool)) (*Config, error) {
	text, err := read(file)
	if err != nil {
		return nil, Faults{{File: file, Line: 1, Col: 1, Message: "the file cannot be read: " + reason(err)}}
	}
	return Parse(file, text, env)
}

// read stops one byte after what Parse accepts, so that a device or a huge file
// takes no memory.
func read(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+4))
}

// reason is an error of the file system without the name, which the fault has.
func reason(err error) string {
	if p, ok := err.(*os.PathError); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// Parse is Load for a text that is already here; name stands for the file in
// faults.
func Parse(name string, text []byte, env func(string) (string, bool)) (*Config, error) {
	d := &decoder{report: report{file: name}, env: env, at: map[string]position{}, bad: map[string]bool{}}
	root := d.tree(text)
	if err := d.err(); err != nil {
		return nil, err // nothing after a syntax fault can be trusted
	}
	c := defaults()
	if !isNull(root) {
		d.decode(root, "", reflect.ValueOf(c).Elem(), "")
	}
	d.check(c)
	if err := d.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// Demo is the configuration of the demo command [CLI-1]: one agent named demo,
// the embedded store in dir, no authentication.
func Demo(listen, adminListen, dir string) *Config {
	c := defaults()
	c.Listen, c.Admin.Listen, c.Store.Dir = listen, adminListen, dir
	var a Agent
	setDefaults(reflect.ValueOf(&a).Elem())
	a.Name, a.Description = "demo", "A scripted agent that shows what the gateway does."
	a.Upstream.Kind = "demo"
	a.ClientTools.Deny = nil
	c.Agents = []Agent{a}
	return c
}

func defaults() *Config {
	c := &Config{}
	setDefaults(reflect.ValueOf(c).Elem())
	return c
}
