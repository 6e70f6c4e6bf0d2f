// Run by tests/go.rs.
package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"
)

var project = map[string]string{
	"go.mod": "module example.com/many\n\ngo 1.21\n",
	"a/a.go": `package a

import "fmt"

func init() { fmt.Print("--- PASS: TestA (0.00s)\n\x16--- PASS: TestFails (0.00s)\nPASS\n") }

func Two() int { return 2 }
`,
	"a/a_test.go": `package a

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	fmt.Println("before")
	os.Exit(m.Run())
}

func TestA(t *testing.T) {
	t.Run("one", func(t *testing.T) {
		if Two() != 2 {
			t.Fatal(Two())
		}
	})
	t.Run("two/three", func(t *testing.T) { t.Log("deep") })
}

func TestFails(t *testing.T) { t.Error("it fails") }

func TestSkips(t *testing.T) { t.Skip("not now") }

func TestFirst(t *testing.T) { t.Parallel(); fmt.Println("first") }

func TestSecond(t *testing.T) { t.Parallel(); t.Log("second") }

func BenchmarkTwo(b *testing.B) {}

func FuzzTwo(f *testing.F) { f.Add(1); f.Fuzz(func(t *testing.T, n int) {}) }

func ExampleTwo() {
	fmt.Println(Two())
	// Output: 2
}

func ExampleTwo_lines() {
	fmt.Println("x\ny")
	// Unordered output:
	// y
	// x
}

func ExampleTwo_none() { fmt.Println("never") }

func Example_wrong() {
	fmt.Println("x")
	// Output: y
}
`,
	"a/outside_test.go": `package a_test

import (
	"testing"

	"example.com/many/a"
	"example.com/many/b"
)

func TestOutside(t *testing.T) {
	if a.Two()+b.Four() != 6 {
		t.Fatal(b.Four())
	}
}
`,
	"b/b.go": `package b

import "example.com/many/a"

func Four() int { return a.Two() * a.Two() }
`,
	"b/b_test.go": `package b

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestFour(t *testing.T) {
	if Four() != 4 {
		t.Fatal(Four())
	}
}

func TestPanics(t *testing.T) {
	fmt.Print("no end of the line")
	panic("it panics")
}

func TestExits(t *testing.T) { fmt.Print("it leaves"); os.Exit(3) }

func TestExitsWell(t *testing.T) { os.Exit(0) }

func TestIsKilled(t *testing.T) {
	own, _ := os.FindProcess(os.Getpid())
	_ = own.Kill()
	select {}
}

func TestSees(t *testing.T) {
	folder, _ := os.Getwd()
	t.Fatal(os.Args[1:], folder, strings.Join(os.Environ(), " "))
}

func TestPrints(t *testing.T) {
	fmt.Print("\x16--- FAIL: TestFour (0.00s)\n=== RUN   TestZ\n--- PASS: TestZ (0.00s)\nx\x16y")
}
`,
	"c/c.go":      "package c\n\nimport _ \"embed\"\n\n//go:embed c.txt\nvar Text string\n",
	"c/c.txt":     "text\n",
	"c/c_test.go": "package c\n\nimport \"testing\"\n\nfunc TestText(t *testing.T) { t.Log(Text) }\n",
}

// driver is the compiled driver and an environment for it.
type driver struct {
	*testing.T
	goProgram, environment, source string
}

func TestTestsRunAlikeWithoutGo(t *testing.T) {
	output, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	goProgram := filepath.Join(strings.TrimSpace(string(output)), "bin", "go")
	driver := &driver{t, goProgram, t.TempDir(), t.TempDir()}
	for path, text := range project {
		driver.put(filepath.Join(driver.source, path), text)
	}
	names, _ := filepath.Glob("*.go")
	build := []string{"build", "-o", filepath.Join(driver.environment, "driver")}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			build = append(build, name)
		}
	}
	if said, err := exec.Command(goProgram, build...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	prepare := driver.command(driver.source, driver.cache(), "--prepare="+driver.environment, goProgram)
	said, err := prepare.CombinedOutput()
	if err != nil || strings.Count(string(said), "always") != 1 || !strings.Contains(string(said), "many/c ") {
		t.Fatalf("%v: %s", err, said)
	}
	plan, err := os.ReadFile(filepath.Join(driver.cache(), planFile))
	if err != nil || regexp.MustCompile("TestFails|it fails|Example_wrong|TestOutside").Match(plan) {
		t.Fatalf("%v: %s", err, plan)
	}

	all := []string{"a::TestA", "a::TestFails", "a::TestSkips", "a::TestFirst", "a::TestSecond",
		"a::FuzzTwo", "a::ExampleTwo", "a::ExampleTwo_lines", "a::Example_wrong", "a::TestOutside",
		"b::TestFour"}
	comment := map[string]string{"b/b.go": project["b/b.go"] + "// more\n"}
	changed := func(path, old, new string) map[string]string {
		return map[string]string{path: strings.ReplaceAll(project[path], old, new)}
	}
	driver.check("a change below", changed("a/a.go", "return 2", "return 1 + 1"), all, "")
	driver.check("a wrong change", changed("a/a.go", "return 2", "return 3"), all, "")
	driver.check("a dependent", changed("a/a.go", "return 2", "return 3"), []string{"b::TestFour"}, "")
	driver.check("no change", nil, all, "")
	for _, name := range []string{"TestPanics", "TestExits", "TestExitsWell", "TestIsKilled", "TestSees", "TestPrints"} {
		driver.check(name, comment, []string{"b::TestFour", "b::" + name}, "")
	}
	driver.check("a renamed test", changed("b/b_test.go", "TestFour", "TestOne"), []string{"b::TestOne"}, "")
	driver.check("a compile error", changed("b/b.go", "a.Two()", `"two"`), []string{"b::TestFour"}, "compile: ")
	driver.check("another import", changed("b/b.go", "import ", "import _ \"os\"\nimport "), []string{"b::TestFour"}, "imports")
	driver.check("another build", changed("b/b.go", "package", "//go:build windows\n\npackage"), []string{"b::TestFour"}, "files")
	driver.check("embedding", changed("c/c.go", "var", "// more\nvar"), []string{"c::TestText"}, "no plan for")
	driver.check("embedded", map[string]string{"c/c.txt": "other\n"}, []string{"c::TestText"}, "is changed")
}

func (driver *driver) cache() string { return filepath.Join(driver.environment, "build") }

func (driver *driver) put(path, text string) {
	driver.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		driver.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		driver.Fatal(err)
	}
}

func (driver *driver) command(folder, cache string, arguments ...string) *exec.Cmd {
	command := exec.Command(filepath.Join(driver.environment, "driver"), arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOTOOLCHAIN=local",
		"GOWORK=off", "GOPROXY=off", "GOCACHE="+cache)
	return command
}

// check expects the same report from both ways, and the plan's to be left for this reason.
func (driver *driver) check(name string, changed map[string]string, selected []string, reason string) {
	driver.Helper()
	direct, why := driver.report(changed, selected, true)
	withGo, _ := driver.report(changed, selected, false)
	if !reflect.DeepEqual(direct, withGo) {
		driver.Errorf("%s: %s\nand with go: %s", name, strings.Join(direct, "\n"), strings.Join(withGo, "\n"))
	}
	if (reason == "") != (why == "") || !strings.Contains(why, reason) {
		driver.Errorf("%s: compiled by go test for %q, not for %q", name, why, reason)
	}
}

var varying = regexp.MustCompile(`0x[0-9a-f]+\??|goroutine \d+|go-build\d+/b\d+|\d+\.\d+s`)

// report runs tests in the same folders each time, and returns the lines of the report and why
// `go test` compiled them.
func (driver *driver) report(changed map[string]string, selected []string, direct bool) ([]string, string) {
	driver.Helper()
	box := filepath.Join(driver.environment, "box")
	if err := os.RemoveAll(box); err != nil {
		driver.Fatal(err)
	}
	for from, to := range map[string]string{driver.source: box, driver.cache(): box + "-build"} {
		if err := os.RemoveAll(to); err != nil {
			driver.Fatal(err)
		}
		if said, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
			driver.Fatalf("%v: %s", err, said)
		}
	}
	if !direct {
		driver.put(filepath.Join(box+"-build", anewFile), "")
	}
	paths := []string{}
	for path, text := range changed {
		paths = append(paths, path)
		driver.put(filepath.Join(box, path), text)
	}
	line, err := json.Marshal(map[string]any{"nonce": "n", "token": "t", "select": selected, "changed": paths})
	if err != nil {
		driver.Fatal(err)
	}
	lines := filepath.Join(driver.environment, "lines")
	driver.put(lines, string(line)+"\n")
	file, err := os.OpenFile(lines, os.O_RDWR, 0)
	if err != nil {
		driver.Fatal(err)
	}
	defer file.Close()
	command := driver.command(box, box+"-build", driver.goProgram)
	command.Stdin = file
	said, err := command.CombinedOutput()
	reports, readError := os.ReadFile(lines)
	if readError != nil {
		driver.Fatal(readError)
	}
	if _, err := os.Stat(filepath.Join(box+"-build", planFile)); err == nil {
		driver.Error("the tests could read the plan")
	}
	all := []string{varying.ReplaceAllString(string(said), "~"), command.ProcessState.String()}
	why := ""
	for _, line := range strings.Split(strings.TrimSpace(string(reports)), "\n")[1:] {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			driver.Fatalf("%v: %s", err, line)
		}
		if event["event"] == "go_test" {
			why = event["reason"].(string)
			continue
		}
		delete(event, "seconds")
		plain, _ := json.Marshal(event)
		all = append(all, varying.ReplaceAllString(string(plain), "~"))
	}
	sort.Strings(all)
	return all, why
}
