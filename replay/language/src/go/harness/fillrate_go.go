// Runs tests of Go, and reports every test out of band.
//
// Use: fillrate_go GO [-C=FOLDER] [--work=FILE] [--leave-out=FOLDER ...] [OPTION of go
// test ...] [PACKAGE ...], with the working directory at the root of the repository.
// FOLDER holds the module; without packages, all of the module's are tested.  FILE is
// the go.work of the workspace that uses it.
//
// Input: a line of JSON on the standard input, as harness.rs describes it.  Output:
// lines of JSON on the standard input, as report.rs describes them, each with the
// nonce.  Only this process, in which no code of the project runs, knows the nonce.
//
// Tests run in one process for each package, started by `go test -json`, or as it would
// be (see fillrate_go_direct.go), and what that process prints is read: outcomes are no
// stronger than that.  Sentinels are added to every package as a file of tests that
// `go test` lays over the repository.  A test's id is the folder of its package, `::` and
// its name; subtests are parts of their tests.  Lines by test are recorded in a process
// for each test.
//
// Before any test runs, it removes from the cache what is compiled of the packages that a
// change reaches, so that their originals are nowhere; with a file `fillrate-anew` in the
// cache, of all of the project's.  With --prepare=ENVIRONMENT before GO it compiles the
// project in the working directory, lists what is compiled of it, and removes from the
// cache whatever else is compiled; see fillrate_go_archives.go.
//
// With --check=ROOT before GO it compiles changed files of the repository in the
// folder ROOT instead; see fillrate_go_check.go.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

const (
	leaveOut     = "--leave-out="
	workspace    = "--work="
	messageLimit = 4000
	// One argument of a program may have 128 KiB.
	longestPattern = 100_000
	sentinelFile   = "zz_fillrate_sentinel_test.go"
	sentinelName   = "TestFillrateSentinel"
	tokenKey       = "FILLRATE_TOKEN"
)

// Instructions as read from the standard input.
type Instructions struct {
	Nonce            string    `json:"nonce"`
	Token            string    `json:"token"`
	Select           *[]string `json:"select"`
	Coverage         *[]string `json:"coverage"`
	FirstFailureEnds bool      `json:"first_failure_ends"`
	Changed          []string  `json:"changed"`
}

// Event is one line of `go test -json`.
type Event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Elapsed    float64
	Output     string
}

// Package is a package with tests.
type Package struct {
	// Its path, as events have it.
	path string
	// Its folder within the repository.
	folder string
	// Its name.
	name string
}

// Outcome is what is known of a test.
type Outcome struct {
	outcome string
	seconds float64
	message strings.Builder
}

// end notes how a test ended; of two ends, as code may print one, the worse counts.
func (test *Outcome) end(event Event) {
	outcome := map[string]string{"pass": "passed", "skip": "skipped", "fail": "failed"}[event.Action]
	worse := map[string]int{"": 0, "passed": 1, "skipped": 2, "failed": 3}
	if worse[outcome] > worse[test.outcome] {
		test.outcome = outcome
	}
	test.seconds = event.Elapsed
}

// Run is the run of all selected tests.
type Run struct {
	Instructions
	goProgram string
	root      string
	// The folder of the module, and its path in imports.
	directory string
	module    string
	scratch   string
	options   []string
	patterns  []string
	leftOut   map[string]bool
	selected  map[string]bool
	packages  []*Package
	tests     map[string]*Outcome
	sentinels map[string]*Outcome
	broken    map[string]*strings.Builder
	// Whether the first failure ended the run.
	stopped bool
	// Whether `go test` says of a package that all its tests passed, in spite of the sentinels.
	passed bool
	// How to compile the tests without `go`, if that is known, and whether it should be.
	plan      *Plan
	lacksPlan bool
	mutex     sync.Mutex
}

func main() {
	closeToTracing()
	if len(os.Args) > 1 {
		if folder, found := strings.CutPrefix(os.Args[1], "--keep-main="); found {
			if err := keepMain(folder, os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			return
		}
		if environment, found := strings.CutPrefix(os.Args[1], "--prepare="); found {
			if err := prepareArchives(environment, os.Args[2]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			return
		}
		if root, found := strings.CutPrefix(os.Args[1], "--check="); found {
			if err := checkFiles(root, os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(3)
			}
			return
		}
	}
	run := &Run{
		leftOut:   map[string]bool{},
		tests:     map[string]*Outcome{},
		sentinels: map[string]*Outcome{},
		broken:    map[string]*strings.Builder{},
	}
	if err := run.all(); err != nil {
		run.write("harness_error", map[string]any{"message": err.Error()})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	if run.passed {
		os.Exit(0)
	}
	// The sentinels fail.
	os.Exit(1)
}

func (run *Run) all() error {
	line, err := readLine(os.Stdin)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, &run.Instructions); err != nil {
		return err
	}
	if err := run.prepare(os.Args[1:]); err != nil {
		return err
	}
	defer os.RemoveAll(run.scratch)
	if err := run.removeOriginals(filepath.Dir(os.Args[0])); err != nil {
		return err
	}
	if err := run.findPackages(); err != nil {
		return err
	}
	if err := run.runTests(); err != nil {
		return err
	}
	run.report()
	if run.Coverage != nil {
		if err := run.recordLines(); err != nil {
			return err
		}
	}
	run.write("end", map[string]any{})
	return nil
}

// readLine reads to the end of the first line and no further.
func readLine(input io.Reader) ([]byte, error) {
	var line []byte
	one := make([]byte, 1)
	for {
		if _, err := input.Read(one); err != nil {
			return nil, fmt.Errorf("the instructions can't be read: %w", err)
		}
		if one[0] == '\n' {
			return line, nil
		}
		line = append(line, one[0])
	}
}

// write adds a signed line to the report.
func (run *Run) write(event string, members map[string]any) {
	members["event"] = event
	members["nonce"] = run.Nonce
	line, err := json.Marshal(members)
	if err == nil {
		run.mutex.Lock()
		defer run.mutex.Unlock()
		_, err = os.Stdin.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the report can't be written:", err)
		os.Exit(3)
	}
}

// prepare reads the arguments and the module's path.
func (run *Run) prepare(arguments []string) error {
	if len(arguments) == 0 {
		return errors.New("the path of the program go is missing")
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	run.goProgram, run.root = arguments[0], root
	for _, argument := range arguments[1:] {
		switch {
		case strings.HasPrefix(argument, "-C="):
			if err := os.Chdir(strings.TrimPrefix(argument, "-C=")); err != nil {
				return err
			}
		case strings.HasPrefix(argument, workspace):
			if err := os.Setenv("GOWORK", strings.TrimPrefix(argument, workspace)); err != nil {
				return err
			}
		case strings.HasPrefix(argument, leaveOut):
			run.leftOut[strings.TrimPrefix(argument, leaveOut)] = true
		case strings.HasPrefix(argument, "-"):
			run.options = append(run.options, argument)
		default:
			run.patterns = append(run.patterns, argument)
		}
	}
	if len(run.patterns) == 0 {
		run.patterns = []string{"./..."}
	}
	if run.directory, err = os.Getwd(); err != nil {
		return err
	}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`).FindSubmatch(text)
	if found == nil {
		return errors.New("go.mod names no module")
	}
	run.module = string(found[1])
	if run.Select != nil {
		run.selected = map[string]bool{}
		for _, id := range *run.Select {
			run.selected[id] = true
		}
	}
	run.scratch, err = os.MkdirTemp("", "fillrate-go-")
	return err
}

// folderOf returns the folder of a package within the repository.
func (run *Run) folderOf(path string) string {
	inside := strings.TrimPrefix(strings.TrimPrefix(path, run.module), "/")
	folder, err := filepath.Rel(run.root, filepath.Join(run.directory, inside))
	if err != nil {
		return path
	}
	return filepath.ToSlash(folder)
}

// findPackages finds the packages of the selected tests, or all that have tests.
func (run *Run) findPackages() error {
	if run.selected != nil {
		return run.selectedPackages()
	}
	type listed struct {
		ImportPath   string
		Name         string
		TestGoFiles  []string
		XTestGoFiles []string
	}
	all, err := list[listed](run, "-e", "-json=ImportPath,Name,TestGoFiles,XTestGoFiles")
	if err != nil {
		return err
	}
	for _, one := range all {
		folder := run.folderOf(one.ImportPath)
		if len(one.TestGoFiles)+len(one.XTestGoFiles) == 0 || run.leftOut[folder] {
			continue
		}
		name := one.Name
		if name == "" {
			name = run.packageName(run.inModule(folder))
		}
		run.packages = append(run.packages, &Package{one.ImportPath, folder, name})
	}
	if len(run.packages) == 0 {
		return errors.New("no package has tests")
	}
	return nil
}

// list returns what `go list` says of the packages of the patterns.
func list[T any](run *Run, arguments ...string) ([]T, error) {
	arguments = append([]string{"list"}, arguments...)
	arguments = append(arguments, buildOptions(run.options)...)
	output, err := run.command(append(arguments, run.patterns...)...).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return nil, fmt.Errorf("go list: %s", strings.TrimSpace(string(failed.Stderr)))
		}
		return nil, err
	}
	var all []T
	// The output is one object after the other, and no list.
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var one T
		if err := decoder.Decode(&one); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}

func (run *Run) selectedPackages() error {
	seen := map[string]bool{}
	for id := range run.selected {
		folder, _, found := strings.Cut(id, "::")
		if !found {
			return fmt.Errorf("%s is no test's id", id)
		}
		if seen[folder] {
			continue
		}
		seen[folder] = true
		inside := run.inModule(folder)
		path := run.module
		if inside != "." {
			path += "/" + filepath.ToSlash(inside)
		}
		run.packages = append(run.packages, &Package{path, folder, run.packageName(inside)})
	}
	// The order of a map differs from run to run.
	sort.Slice(run.packages, func(i, j int) bool {
		return run.packages[i].folder < run.packages[j].folder
	})
	return nil
}

// inModule returns a folder of the repository, relative to the module's folder.
func (run *Run) inModule(folder string) string {
	inside, err := filepath.Rel(run.directory, filepath.Join(run.root, folder))
	if err != nil {
		return folder
	}
	return inside
}

// packageName returns the name of the package in a folder.
func (run *Run) packageName(folder string) string {
	context := build.Default
	for _, option := range run.options {
		if tags, found := strings.CutPrefix(strings.TrimLeft(option, "-"), "tags="); found {
			context.BuildTags = strings.Split(tags, ",")
		}
	}
	// Of a package that does not compile, the name is known all the same.
	found, _ := context.ImportDir(folder, 0)
	if found == nil || found.Name == "" {
		return "fillrate"
	}
	return found.Name
}

func (run *Run) command(arguments ...string) *exec.Cmd {
	return exec.Command(run.goProgram, arguments...)
}

// sentinelPath returns the file of a package's sentinels, the same name in every run.
func (run *Run) sentinelPath(one *Package) string {
	return filepath.Join(run.scratch, fmt.Sprintf("%x_test.go", sha256.Sum256([]byte(one.path))))
}

// writeOverlay adds the sentinels to the packages; returns the file that says so.
func (run *Run) writeOverlay() (string, error) {
	replaced := map[string]string{}
	for _, one := range run.packages {
		file := run.sentinelPath(one)
		text := fmt.Sprintf(`package %s_test

import (
	"os"
	"testing"
)

func %sError(t *testing.T) { t.Error(os.Getenv("%s")) }

func %sFatal(t *testing.T) { t.Fatal(os.Getenv("%s")) }

func %sSubtest(t *testing.T) {
	t.Run("inner", func(t *testing.T) { t.Error(os.Getenv("%s")) })
}
`, one.name, sentinelName, tokenKey, sentinelName, tokenKey, sentinelName, tokenKey)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return "", err
		}
		replaced[filepath.Join(run.root, one.folder, sentinelFile)] = file
	}
	line, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(run.scratch, "overlay.json")
	return overlay, os.WriteFile(overlay, line, 0o644)
}

// runTests runs the tests and reads what `go test` says of them.
func (run *Run) runTests() error {
	overlay, err := run.writeOverlay()
	if err != nil {
		return err
	}
	err = run.runDirectly()
	var reason noPlan
	if !errors.As(err, &reason) {
		return err
	}
	run.write("go_test", map[string]any{"reason": string(reason), "lacks_plan": run.lacksPlan})
	// With `-count=1` no outcome comes from the cache; the sandbox has the limit of time.
	arguments := []string{"test", "-json", "-vet=off", "-count=1", "-timeout=0", "-overlay=" + overlay}
	// Without a pattern all tests run, and those that are not selected are not reported.
	if pattern := run.pattern(); run.selected != nil && len(pattern) < longestPattern {
		arguments = append(arguments, "-run="+pattern)
	}
	arguments = append(arguments, run.options...)
	for _, one := range run.packages {
		arguments = append(arguments, one.path)
	}
	command := run.command(arguments...)
	command.Env = append(os.Environ(), tokenKey+"="+run.Token)
	command.Stderr = os.Stderr
	// A group of its own, so that a signal reaches the tests' processes too.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	reader := bufio.NewReaderSize(output, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		var event Event
		if json.Unmarshal(line, &event) == nil && run.take(event) && run.FirstFailureEnds {
			run.stopped = true
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
			break
		}
		if err != nil {
			break
		}
	}
	// That the sentinels fail makes it fail.
	_ = command.Wait()
	return nil
}

// pattern matches the names of the selected tests and of the sentinels.
func (run *Run) pattern() string {
	names := map[string]bool{}
	for id := range run.selected {
		_, name, _ := strings.Cut(id, "::")
		names[regexp.QuoteMeta(name)] = true
	}
	all := []string{sentinelName + ".*"}
	for name := range names {
		all = append(all, name)
	}
	sort.Strings(all)
	return "^(" + strings.Join(all, "|") + ")$"
}

// take reads an event; returns whether one of the tests has failed.
func (run *Run) take(event Event) bool {
	if event.Action == "build-output" {
		// The path of a package built for a test has that test after it: `a/b [a/b.test]`.
		path, _, _ := strings.Cut(event.ImportPath, " ")
		run.noteBroken(path, event.Output)
		return false
	}
	if event.Test == "" {
		run.passed = run.passed || event.Action == "pass"
		reason := strings.TrimPrefix(strings.TrimSpace(event.Output), "FAIL\t"+event.Package+" ")
		if reason == "[build failed]" || reason == "[setup failed]" {
			run.noteBroken(event.Package, "")
		}
		return false
	}
	name, _, isSubtest := strings.Cut(event.Test, "/")
	test := run.test(event.Package, name)
	if test == nil {
		return false
	}
	switch event.Action {
	case "output":
		if test.message.Len() < messageLimit {
			test.message.WriteString(event.Output)
		}
	case "pass", "fail", "skip":
		if !isSubtest {
			test.end(event)
			return test.outcome == "failed" && !strings.HasPrefix(name, sentinelName)
		}
	}
	return false
}

func (run *Run) noteBroken(path, output string) {
	message := run.broken[path]
	if message == nil {
		message = &strings.Builder{}
		run.broken[path] = message
	}
	if message.Len() < messageLimit {
		message.WriteString(output)
	}
}

// test returns what is known of a test; nil for one that is not selected.
func (run *Run) test(path, name string) *Outcome {
	id := run.folderOf(path) + "::" + name
	known := run.tests
	if strings.HasPrefix(name, sentinelName) {
		known = run.sentinels
	} else if run.selected != nil && !run.selected[id] {
		return nil
	}
	if known[id] == nil {
		known[id] = &Outcome{}
	}
	return known[id]
}

// report writes the outcomes. A test that began and did not end has failed, unless the failure of
// another ended the run.
func (run *Run) report() {
	for id, test := range run.tests {
		if test.outcome == "" {
			if run.stopped {
				continue
			}
			test.outcome = "failed"
		}
		members := map[string]any{"id": id, "outcome": test.outcome, "seconds": test.seconds}
		if test.outcome != "passed" {
			members["message"] = limited(test.message.String())
		}
		run.write("test", members)
	}
	message := &strings.Builder{}
	tested := map[string]bool{}
	for _, one := range run.packages {
		tested[one.path] = true
	}
	// What does not compile may be a package that others need.
	var paths []string
	for path := range run.broken {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		message.WriteString(run.broken[path].String())
	}
	for _, path := range paths {
		if tested[path] {
			members := map[string]any{"id": run.folderOf(path), "message": limited(message.String()), "compile": true}
			run.write("collect_error", members)
		}
	}
	for _, kind := range []string{"Error", "Fatal", "Subtest"} {
		run.reportSentinel(kind)
	}
}

// reportSentinel writes the outcome of a sentinel: of the package in which it held least.
func (run *Run) reportSentinel(kind string) {
	outcome, message := "failed", run.Token
	for _, one := range run.packages {
		known := run.sentinels[one.folder+"::"+sentinelName+kind]
		switch {
		case known == nil || known.outcome == "":
			return
		case known.outcome != "failed":
			outcome = known.outcome
		case !strings.Contains(known.message.String(), run.Token):
			message = known.message.String()
		}
	}
	id := strings.ToLower(kind)
	run.write("sentinel", map[string]any{"id": id, "outcome": outcome, "message": message})
}

func limited(text string) string {
	if len(text) > messageLimit {
		text = strings.ToValidUTF8(text[:messageLimit], "")
	}
	return text
}

// recordLines runs each test in a process of its own, and reports the lines that it runs.
func (run *Run) recordLines() error {
	wanted := map[string]bool{}
	for _, file := range *run.Coverage {
		wanted[file] = true
	}
	byFolder := map[string][]string{}
	for id := range run.tests {
		folder, name, _ := strings.Cut(id, "::")
		byFolder[folder] = append(byFolder[folder], name)
	}
	for index, one := range run.packages {
		if len(byFolder[one.folder]) == 0 {
			continue
		}
		program := filepath.Join(run.scratch, strconv.Itoa(index)+".test")
		// A package that does not compile spoils what is built with all of them.
		err := run.buildWithCoverage(one, program, strings.Join(run.patterns, ","))
		if err != nil {
			err = run.buildWithCoverage(one, program, one.path)
		}
		if err != nil {
			return err
		}
		run.recordPackage(one, program, byFolder[one.folder], wanted)
	}
	return nil
}

// buildWithCoverage builds the tests of a package so that they record lines of others.
func (run *Run) buildWithCoverage(one *Package, program, recorded string) error {
	arguments := []string{"test", "-c", "-vet=off", "-cover", "-covermode=count", "-o", program}
	arguments = append(arguments, "-coverpkg="+recorded)
	arguments = append(arguments, buildOptions(run.options)...)
	if output, err := run.command(append(arguments, one.path)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s can't be built with coverage: %s", one.folder, limited(string(output)))
	}
	return nil
}

// buildOptions leaves out options of the tests themselves, which `go test -c` has no use for.
func buildOptions(options []string) []string {
	var kept []string
	for _, option := range options {
		name, _, _ := strings.Cut(strings.TrimLeft(option, "-"), "=")
		switch name {
		case "tags", "ldflags", "gcflags", "mod":
			kept = append(kept, option)
		}
	}
	return kept
}

// Counts are how often the blocks of files ran.
type Counts map[string]map[[2]int]int

func (run *Run) recordPackage(one *Package, program string, names []string, wanted map[string]bool) {
	// No test has an empty name, so only initialisation runs, and `TestMain`.
	atStart := run.counts(one, program, "^$")
	run.reportLines("", atStart, nil, wanted)
	waiting := make(chan string)
	var workers sync.WaitGroup
	for count := runtime.NumCPU(); count > 0; count-- {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for name := range waiting {
				counts := run.counts(one, program, "^"+regexp.QuoteMeta(name)+"$")
				run.reportLines(one.folder+"::"+name, counts, atStart, wanted)
			}
		}()
	}
	for _, name := range names {
		waiting <- name
	}
	close(waiting)
	workers.Wait()
}

// counts runs the tests that match a pattern and reads how often each block ran.
func (run *Run) counts(one *Package, program, pattern string) Counts {
	profile, err := os.CreateTemp(run.scratch, "profile-")
	if err != nil {
		return nil
	}
	defer os.Remove(profile.Name())
	defer profile.Close()
	arguments := []string{"-test.run=" + pattern, "-test.coverprofile=" + profile.Name()}
	for _, option := range run.options {
		if strings.TrimLeft(option, "-") == "short" {
			arguments = append(arguments, "-test.short")
		}
	}
	command := exec.Command(program, arguments...)
	command.Dir = filepath.Join(run.root, one.folder)
	// A test that fails alone has run lines all the same.
	_ = command.Run()
	counts := Counts{}
	// A line is `FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT`.
	line := regexp.MustCompile(`^(.+):(\d+)\.\d+,(\d+)\.\d+ \d+ (\d+)$`)
	scanner := bufio.NewScanner(profile)
	for scanner.Scan() {
		found := line.FindStringSubmatch(scanner.Text())
		if found == nil {
			continue
		}
		file := run.folderOf(found[1])
		first, _ := strconv.Atoi(found[2])
		last, _ := strconv.Atoi(found[3])
		count, _ := strconv.Atoi(found[4])
		if counts[file] == nil {
			counts[file] = map[[2]int]int{}
		}
		counts[file][[2]int{first, last}] += count
	}
	return counts
}

// reportLines writes the lines of the blocks that ran more often than before.
func (run *Run) reportLines(id string, counts, before Counts, wanted map[string]bool) {
	for file, blocks := range counts {
		lines := map[int]bool{}
		for block, count := range blocks {
			if count <= before[file][block] {
				continue
			}
			for line := block[0]; line <= block[1]; line++ {
				lines[line] = true
			}
		}
		if len(lines) == 0 || !wanted[file] {
			continue
		}
		var sorted []int
		for line := range lines {
			sorted = append(sorted, line)
		}
		sort.Ints(sorted)
		run.write("coverage", map[string]any{"test": id, "file": file, "lines": sorted})
	}
}
