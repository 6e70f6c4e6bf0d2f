// Compiles, links and runs tests by the commands that `go test` itself gave when the environment
// was made: `go` needs about as long to find them out as they take.
//
// The plan of these commands is in the cache, and removed before any test runs.  It holds no text
// and no names of tests: the main program of tests is written from those that are declared.  For
// whatever the plan does not cover, and for what does not compile, there is `go test`.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

const (
	// The file in the cache with the plan.
	planFile = "fillrate-plan.json"
	// The program in an environment that reads what tests print.
	converterName = "test2json"
	// What stands for paths in the plan.
	workPlace    = "$WORK"
	scratchPlace = "$SCRATCH"
	folderPlace  = "$FOLDER"
	cachePlace   = "$CACHE"
	goPlace      = "$GO"
)

// Plan is how the project's tests are compiled.
type Plan struct {
	// The project's folders, by their paths relative to the module's.
	Folders map[string]Folder
	// In an order in which each comes after those that it needs.
	Steps []Step
	// The test programs, by the paths of the packages.
	Programs map[string]Program
}

// Folder is a folder with a package, as it was when the plan was made.
type Folder struct {
	Digest string
	// Nil if the package needs more than the compiler of Go.
	Sources *Sources
}

// Sources are what `go` reads of a package's files before it compiles them.
type Sources struct {
	Name                               string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

// Step is the compilation of a package of the project, or of one for a test.
type Step struct {
	// Its folder in that of the work.
	Id string
	// Relative to the module's; empty for what is compiled from no file of the project.
	Folder    string
	Arguments []string
	Files     []string
	Imports   []string
	// The file of what it made, relative to the cache; empty if that is not kept.
	Archive string
}

// Program is a test program.
type Program struct {
	// Its step.
	Id string
	// Its main file without the lists of tests.
	Frame string
	// The files of tests inside and outside of the package, and what the frame relies on.
	Inside, Outside []string
	Uses            Uses
	Name            string
	Variables       []string
	Arguments       []string
	Imports         []string
}

// Uses are what a main file has besides the lists of tests.
type Uses struct {
	Main            string
	Inside, Outside bool
}

// noPlan says why tests are not compiled by the plan.
type noPlan string

func (reason noPlan) Error() string { return string(reason) }

// sourcesOf reads the files of a folder as `go` does.
func sourcesOf(folder string) *Sources {
	found, err := build.Default.ImportDir(folder, 0)
	if err != nil {
		return nil
	}
	more := len(found.CgoFiles) + len(found.CFiles) + len(found.CXXFiles) + len(found.MFiles) +
		len(found.HFiles) + len(found.FFiles) + len(found.SFiles) + len(found.SwigFiles) +
		len(found.SwigCXXFiles) + len(found.SysoFiles) + len(found.InvalidGoFiles) +
		len(found.EmbedPatterns) + len(found.TestEmbedPatterns) + len(found.XTestEmbedPatterns) +
		len(found.Directives) + len(found.TestDirectives) + len(found.XTestDirectives)
	if more > 0 {
		return nil
	}
	return &Sources{
		found.Name,
		found.GoFiles, found.TestGoFiles, found.XTestGoFiles,
		found.Imports, found.TestImports, found.XTestImports,
	}
}

// digest is that of the names and contents of a folder's Go files.
func digest(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(globQuoted(folder), "*.go"))
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n", filepath.Base(file), len(text))
		hash.Write(text)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

func globQuoted(path string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`).Replace(path)
}

// Tables are the lists of tests of a main file, by the types of their members.
type Tables map[string][]string

// declared lists what the files of tests declare, as `go test` does.
func declared(inside, outside []string) (Tables, Uses, error) {
	tables, uses := Tables{}, Uses{}
	for _, file := range inside {
		if err := tables.add(file, "_test", &uses, &uses.Inside); err != nil {
			return nil, uses, err
		}
	}
	for _, file := range outside {
		if err := tables.add(file, "_xtest", &uses, &uses.Outside); err != nil {
			return nil, uses, err
		}
	}
	return tables, uses, nil
}

func (tables Tables) add(file, name string, uses *Uses, used *bool) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	kinds := []struct{ prefix, parameter, table string }{
		{"Test", "T", "InternalTest"},
		{"Benchmark", "B", "InternalBenchmark"},
		{"Fuzz", "F", "InternalFuzzTarget"},
	}
	for _, declaration := range parsed.Decls {
		function, isFunction := declaration.(*ast.FuncDecl)
		if !isFunction || function.Recv != nil {
			continue
		}
		own := function.Name.Name
		if own == "TestMain" && !takes(function, "T") {
			if !takes(function, "M") || uses.Main != "" {
				return noPlan("a TestMain that is none")
			}
			uses.Main, *used = name, true
			continue
		}
		for _, kind := range kinds {
			if !isNamed(own, kind.prefix) {
				continue
			}
			if !takes(function, kind.parameter) || function.Type.TypeParams.NumFields() > 0 {
				return noPlan("a test that is none")
			}
			tables[kind.table] = append(tables[kind.table], fmt.Sprintf("{%q, %s.%s},", own, name, own))
			*used = true
		}
	}
	examples := doc.Examples(parsed)
	sort.Slice(examples, func(i, j int) bool { return examples[i].Order < examples[j].Order })
	for _, one := range examples {
		if one.Output == "" && !one.EmptyOutput {
			continue
		}
		own := "Example" + one.Name
		line := fmt.Sprintf("{%q, %s.%s, %q, %t},", own, name, own, one.Output, one.Unordered)
		tables["InternalExample"] = append(tables["InternalExample"], line)
		*used = true
	}
	return nil
}

// takes says whether a function has the one parameter that `go test` asks for.
func takes(function *ast.FuncDecl, parameter string) bool {
	parameters := function.Type.Params.List
	if function.Type.Results.NumFields() > 0 || len(parameters) != 1 || len(parameters[0].Names) > 1 {
		return false
	}
	pointer, isPointer := parameters[0].Type.(*ast.StarExpr)
	if !isPointer {
		return false
	}
	switch to := pointer.X.(type) {
	case *ast.Ident:
		return to.Name == parameter
	case *ast.SelectorExpr:
		return to.Sel.Name == parameter
	}
	return false
}

func isNamed(name, prefix string) bool {
	rest, found := strings.CutPrefix(name, prefix)
	first, _ := utf8.DecodeRuneInString(rest)
	return found && (rest == "" || !unicode.IsLower(first))
}

// fill puts lists of tests into a main file, in place of those that it has.
func (tables Tables) fill(text string) (string, error) {
	for _, table := range []string{"InternalTest", "InternalBenchmark", "InternalFuzzTarget", "InternalExample"} {
		start := "[]testing." + table + "{\n"
		before, rest, found := strings.Cut(text, start)
		_, after, ends := strings.Cut(rest, "\n}\n")
		if !found || !ends {
			return "", noPlan("a main file without " + table)
		}
		text = before + start
		for _, line := range tables[table] {
			text += "\n\t" + line + "\n"
		}
		text += "\n}\n" + after
	}
	return text, nil
}

// keepMain copies the main file of a test program, for which `go test` starts this program.
func keepMain(folder, program string) error {
	work := filepath.Dir(program)
	text, err := os.ReadFile(filepath.Join(work, "_testmain.go"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, filepath.Base(work)), text, 0o644)
}

// compileAll compiles the project and its tests, and returns how.  What can't be planned is said
// on the standard output.
func compileAll(environment, goProgram string) (*Plan, error) {
	run := &Run{leftOut: map[string]bool{}}
	if err := run.prepare([]string{goProgram}); err != nil {
		return nil, err
	}
	defer os.RemoveAll(run.scratch)
	if err := run.findPackages(); err != nil {
		return nil, err
	}
	overlay, err := run.writeOverlay()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	mains := filepath.Join(run.scratch, "mains")
	if err := os.Mkdir(mains, 0o755); err != nil {
		return nil, err
	}
	keep := fmt.Sprintf("-exec='%s' '--keep-main=%s'", program, mains)
	test := run.command("test", "-x", "-vet=off", "-count=1", "-overlay="+overlay, keep, "./...")
	// What does not compile is for the baseline to report.
	said, _ := test.CombinedOutput()
	plan := &Plan{map[string]Folder{}, nil, map[string]Program{}}
	if err := plan.read(run, string(said)); err != nil {
		return nil, err
	}
	for _, one := range run.packages {
		if err := plan.addMain(run, one, mains); err != nil {
			delete(plan.Programs, one.path)
			fmt.Printf("the tests of %s are always compiled by `go test`: %v\n", one.path, err)
		}
	}
	converter := run.command("build", "-o", filepath.Join(environment, converterName), "cmd/test2json")
	converter.Env = append(os.Environ(), "GOWORK=off")
	if said, err := converter.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cmd/test2json does not compile: %s", said)
	}
	return plan, nil
}

var (
	configText  = regexp.MustCompile(`^cat >(.+)/(b\d+)/(importcfg(?:\.link)?) << 'EOF'`)
	archiveText = regexp.MustCompile(`^cp \$WORK/(b\d+)/_pkg_\.a (\S+)`)
	importPath  = regexp.MustCompile(`testdeps\.ImportPath = ("(?:[^"\\]|\\.)*")`)
)

// read takes the commands of `go test -x`.
func (plan *Plan) read(run *Run, said string) error {
	cache := os.Getenv("GOCACHE")
	places := strings.NewReplacer(run.scratch, scratchPlace, cache, cachePlace, filepath.Dir(filepath.Dir(run.goProgram)), goPlace)
	configs := map[string][]string{}
	archives := map[string]string{}
	lines := strings.Split(said, "\n")
	for index := 0; index < len(lines); index++ {
		line := lines[index]
		if found := configText.FindStringSubmatch(line); found != nil {
			name := found[2] + "/" + found[3]
			for index++; index < len(lines) && lines[index] != "EOF"; index++ {
				config := strings.ReplaceAll(lines[index], "="+found[1]+"/", "="+workPlace+"/")
				configs[name] = append(configs[name], places.Replace(config))
			}
			continue
		}
		if found := archiveText.FindStringSubmatch(line); found != nil {
			archives[found[1]] = places.Replace(found[2])
			continue
		}
		words, err := splitWords(line)
		if err != nil {
			continue
		}
		tool := slices.IndexFunc(words, func(word string) bool { return !strings.Contains(word, "=") })
		if tool < 0 || len(words) < tool+4 || words[tool+1] != "-o" {
			continue
		}
		id := filepath.Base(filepath.Dir(words[tool+2]))
		switch filepath.Base(words[tool]) {
		case "compile":
			if err := plan.addStep(run, id, words[tool:], places); err != nil {
				return err
			}
		case "link":
			program := Program{Id: id, Name: filepath.Base(words[tool+2]), Variables: words[:tool]}
			for _, word := range words[tool:] {
				if strings.HasPrefix(word, "-buildid=") {
					// The original would be a digest of the project's own tests.
					word = "-buildid=fillrate"
				}
				program.Arguments = append(program.Arguments, places.Replace(word))
			}
			program.Arguments[len(program.Arguments)-1] = workPlace + "/" + id + "/_pkg_.a"
			plan.Programs[id] = program
		}
	}
	return plan.resolve(configs, archives)
}

// splitWords splits a command as `go` prints it.
func splitWords(line string) ([]string, error) {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimLeft(line, " ") {
		var word string
		if line[0] == '"' {
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			word, err = strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			line = line[len(quoted):]
		} else {
			word, line, _ = strings.Cut(line, " ")
			word = strings.ReplaceAll(word, "''", "")
		}
		words = append(words, word)
	}
	return words, nil
}

// addStep notes a call of the compiler.
func (plan *Plan) addStep(run *Run, id string, words []string, places *strings.Replacer) error {
	end := len(words) - 1
	for end > 0 && strings.HasSuffix(words[end], ".go") {
		end--
	}
	step := Step{Id: id}
	folder := ""
	for _, file := range words[end+1:] {
		if strings.HasPrefix(file, "./") {
			file = filepath.Join(run.directory, file)
		}
		placed := places.Replace(file)
		if placed == file && !strings.HasPrefix(file, workPlace) {
			folder, placed = filepath.Dir(file), filepath.Base(file)
		}
		step.Files = append(step.Files, placed)
	}
	if folder != "" && !isBelow(folder, os.Getenv("GOMODCACHE")) {
		relative, err := filepath.Rel(run.directory, folder)
		if err != nil {
			return err
		}
		step.Folder = filepath.ToSlash(relative)
		if _, known := plan.Folders[step.Folder]; !known {
			of, err := digest(folder)
			if err != nil {
				return err
			}
			plan.Folders[step.Folder] = Folder{of, sourcesOf(folder)}
		}
	}
	for index := 0; index <= end; index++ {
		if words[index] == "-buildid" {
			index++
			continue
		}
		word := places.Replace(words[index])
		if folder != "" {
			word = strings.ReplaceAll(word, folder, folderPlace)
		}
		step.Arguments = append(step.Arguments, word)
	}
	plan.Steps = append(plan.Steps, step)
	return nil
}

func isBelow(path, folder string) bool {
	return folder != "" && strings.HasPrefix(path, folder+string(filepath.Separator))
}

// isSentinel says whether a package has nothing but sentinels, and so is the same in every run.
func (step *Step) isSentinel() bool {
	return len(step.Files) == 1 && strings.HasPrefix(step.Files[0], scratchPlace)
}

// resolve lets what was compiled refer to steps of the project, and to files for all else.
func (plan *Plan) resolve(configs map[string][]string, archives map[string]string) error {
	var own []Step
	others := map[string]string{}
	for _, step := range plan.Steps {
		step.Archive = strings.TrimPrefix(archives[step.Id], cachePlace+"/")
		_, isMain := plan.Programs[step.Id]
		if step.Folder == "" && !isMain && !step.isSentinel() {
			others[step.Id] = archives[step.Id]
			continue
		}
		own = append(own, step)
	}
	plan.Steps = own
	files := func(lines []string) ([]string, error) {
		var resolved []string
		for _, line := range lines {
			if id := workId(line); id != "" {
				if archive, isOther := others[id]; isOther {
					if archive == "" {
						return nil, noPlan("what is compiled of a package is not kept")
					}
					line = strings.Replace(line, workPlace+"/"+id+"/_pkg_.a", archive, 1)
				}
			}
			resolved = append(resolved, line)
		}
		return resolved, nil
	}
	var err error
	for index := range plan.Steps {
		step := &plan.Steps[index]
		if step.Imports, err = files(configs[step.Id+"/importcfg"]); err != nil {
			return err
		}
	}
	for id, program := range plan.Programs {
		if program.Imports, err = files(configs[id+"/importcfg.link"]); err != nil {
			return err
		}
		plan.Programs[id] = program
	}
	return nil
}

// workId returns the step that makes the file of a line, if one does.
func workId(line string) string {
	_, file, _ := strings.Cut(line, "="+workPlace+"/")
	id, _, _ := strings.Cut(file, "/")
	return id
}

// addMain notes the main file of a package's tests, and sees that it can be written anew.
func (plan *Plan) addMain(run *Run, one *Package, mains string) error {
	entries, err := os.ReadDir(mains)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(mains, entry.Name()))
		if err != nil {
			return err
		}
		found := importPath.FindSubmatch(text)
		if found == nil || string(found[1]) != strconv.Quote(one.path) {
			continue
		}
		program, known := plan.Programs[entry.Name()]
		if !known {
			break
		}
		delete(plan.Programs, entry.Name())
		sources := sourcesOf(filepath.Join(run.root, one.folder))
		if sources == nil {
			return noPlan("the package needs more than the compiler")
		}
		program.Inside = sources.TestGoFiles
		program.Outside = append(slices.Clone(sources.XTestGoFiles), sentinelFile)
		sort.Strings(program.Outside)
		tables, uses, err := run.declaredBy(program, one)
		if err != nil {
			return err
		}
		written, err := tables.fill(string(text))
		if err != nil {
			return err
		}
		if written != string(text) {
			return noPlan("its main file has another form")
		}
		program.Uses = uses
		if program.Frame, err = (Tables{}).fill(written); err != nil {
			return err
		}
		plan.Programs[one.path] = program
		return nil
	}
	return noPlan("they were not compiled")
}

// declaredBy lists what the files of a test program declare now.
func (run *Run) declaredBy(program Program, one *Package) (Tables, Uses, error) {
	paths := func(names []string) []string {
		var paths []string
		for _, name := range names {
			path := filepath.Join(run.root, one.folder, name)
			if name == sentinelFile {
				path = run.sentinelPath(one)
			}
			paths = append(paths, path)
		}
		return paths
	}
	return declared(paths(program.Inside), paths(program.Outside))
}

// write keeps the plan in the cache; of what the project's steps made, it relies on what is kept.
func (plan *Plan) write(cache string, kept map[string]bool) error {
	for index := range plan.Steps {
		step := &plan.Steps[index]
		if step.isSentinel() {
			kept[step.Archive] = true
		}
		if !kept[step.Archive] {
			step.Archive = ""
		}
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(cache, planFile), text, 0o644)
}

// takePlan reads the plan and removes it.
func takePlan() (*Plan, error) {
	path := filepath.Join(os.Getenv("GOCACHE"), planFile)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	plan := &Plan{}
	return plan, json.Unmarshal(text, plan)
}

// buildDirectly makes the test programs by the plan; returns their paths in the packages' order.
func (run *Run) buildDirectly() ([]string, error) {
	if run.plan == nil {
		return nil, noPlan("there is no plan")
	}
	if len(run.options) > 0 || run.Coverage != nil {
		return nil, noPlan("there are options")
	}
	for _, path := range run.Changed {
		if !strings.HasSuffix(path, ".go") {
			return nil, noPlan(path + " is changed")
		}
	}
	work, err := os.MkdirTemp(run.scratch, "go-build")
	if err != nil {
		return nil, err
	}
	direct := &Direct{run: run, work: work, rebuilt: map[string]chan error{}, folders: map[string]error{}}
	direct.free = make(chan struct{}, runtime.NumCPU())
	var linked []chan error
	var programs []string
	for _, one := range run.packages {
		program, known := run.plan.Programs[one.path]
		if !known {
			run.lacksPlan = true
			return nil, noPlan("there is no plan for " + one.path)
		}
		if err := direct.compile(program, one); err != nil {
			return nil, err
		}
		linked = append(linked, direct.link(program))
		programs = append(programs, filepath.Join(work, program.Id, program.Name))
	}
	for _, end := range linked {
		if failed := wait(end); err == nil {
			err = failed
		}
	}
	return programs, err
}

// Direct compiles and links.
type Direct struct {
	run  *Run
	work string
	// The ends of the steps that are done anew.
	rebuilt map[string]chan error
	// What speaks against the plan for changed folders; nil if nothing does.
	folders map[string]error
	free    chan struct{}
}

// wait returns how something ended, to each that asks.
func wait(end chan error) error {
	err := <-end
	end <- err
	return err
}

// compile starts the steps of a test program that have to be done anew.
func (direct *Direct) compile(program Program, one *Package) error {
	needed := map[string]bool{program.Id: true}
	for _, line := range program.Imports {
		needed[workId(line)] = true
	}
	for _, step := range direct.run.plan.Steps {
		if !needed[step.Id] || direct.rebuilt[step.Id] != nil {
			continue
		}
		changed, err := direct.isChanged(step.Folder)
		if err != nil {
			return err
		}
		_, err = os.Stat(filepath.Join(os.Getenv("GOCACHE"), step.Archive))
		anew := changed || step.Archive == "" || err != nil
		var first []chan error
		for _, line := range step.Imports {
			if end := direct.rebuilt[workId(line)]; end != nil {
				first = append(first, end)
			}
		}
		if !anew && len(first) == 0 {
			continue
		}
		if step.Id == program.Id {
			if err := direct.writeMain(program, one); err != nil {
				return err
			}
		} else if step.Folder == "" || direct.run.plan.Folders[step.Folder].Sources == nil {
			return noPlan("the package in " + step.Folder + " needs more than the compiler")
		}
		arguments := slices.Clone(step.Arguments)
		for _, file := range step.Files {
			if !strings.HasPrefix(file, "$") {
				file = folderPlace + "/" + file
			}
			arguments = append(arguments, file)
		}
		places := direct.places(step.Folder)
		direct.rebuilt[step.Id] = direct.start(first, nil, arguments, step.Id, "importcfg", step.Imports, places)
	}
	return nil
}

// isChanged says whether a folder differs from the one of the plan; fails if the plan is not fit
// for the difference.
func (direct *Direct) isChanged(folder string) (bool, error) {
	if folder == "" {
		return false, nil
	}
	err, known := direct.folders[folder]
	if known {
		return true, err
	}
	planned := direct.run.plan.Folders[folder]
	path := filepath.Join(direct.run.directory, folder)
	now, err := digest(path)
	if err != nil {
		return false, err
	}
	if now == planned.Digest {
		return false, nil
	}
	if sources := sourcesOf(path); sources == nil || !reflect.DeepEqual(sources, planned.Sources) {
		err = noPlan("the package in " + folder + " has other files or imports")
	}
	direct.folders[folder] = err
	return true, err
}

func (direct *Direct) writeMain(program Program, one *Package) error {
	tables, uses, err := direct.run.declaredBy(program, one)
	if err != nil {
		return err
	}
	if uses != program.Uses {
		return noPlan("the tests of " + one.path + " have another form")
	}
	text, err := tables.fill(program.Frame)
	if err != nil {
		return err
	}
	folder := filepath.Join(direct.work, program.Id)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "_testmain.go"), []byte(text), 0o666)
}

func (direct *Direct) places(folder string) *strings.Replacer {
	return strings.NewReplacer(
		workPlace, direct.work,
		scratchPlace, direct.run.scratch,
		folderPlace, filepath.Join(direct.run.directory, folder),
		cachePlace, os.Getenv("GOCACHE"),
		goPlace, filepath.Dir(filepath.Dir(direct.run.goProgram)),
	)
}

// link starts to link a test program, once all of it is compiled.
func (direct *Direct) link(program Program) chan error {
	first := []chan error{direct.rebuilt[program.Id]}
	for _, line := range program.Imports {
		if end := direct.rebuilt[workId(line)]; end != nil {
			first = append(first, end)
		}
	}
	return direct.start(first, program.Variables, program.Arguments, program.Id, "importcfg.link", program.Imports, direct.places(""))
}

// start runs a program after others; the channel says how it ended.
func (direct *Direct) start(first []chan error, variables, arguments []string, id, config string, imports []string, places *strings.Replacer) chan error {
	lines := make([]string, len(imports))
	for index, line := range imports {
		if step := workId(line); step != "" && direct.rebuilt[step] == nil && step != id {
			line = strings.Replace(line, workPlace+"/"+step+"/_pkg_.a", cachePlace+"/"+direct.archive(step), 1)
		}
		lines[index] = places.Replace(line)
	}
	words := make([]string, len(arguments))
	for index, word := range arguments {
		words[index] = places.Replace(word)
	}
	end := make(chan error, 1)
	go func() {
		for _, one := range first {
			if err := wait(one); err != nil {
				end <- err
				return
			}
		}
		direct.free <- struct{}{}
		defer func() { <-direct.free }()
		folder := filepath.Join(direct.work, id)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			end <- err
			return
		}
		text := strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(filepath.Join(folder, config), []byte(text), 0o666); err != nil {
			end <- err
			return
		}
		command := exec.Command(words[0], words[1:]...)
		command.Env = append(os.Environ(), variables...)
		if output, err := command.CombinedOutput(); err != nil {
			end <- noPlan(fmt.Sprintf("%s: %v: %s", filepath.Base(words[0]), err, limited(string(output))))
			return
		}
		end <- nil
	}()
	return end
}

// archive returns the kept file of a step.
func (direct *Direct) archive(id string) string {
	for _, step := range direct.run.plan.Steps {
		if step.Id == id {
			return step.Archive
		}
	}
	return ""
}

// runDirectly makes the test programs by the plan and runs them one after the other, as `go test`
// would.
func (run *Run) runDirectly() error {
	programs, err := run.buildDirectly()
	if err != nil {
		return err
	}
	for index, one := range run.packages {
		if err := run.runProgram(programs[index], one); err != nil || run.stopped {
			return err
		}
	}
	return nil
}

// Tail passes on what a test program prints, and knows how that ends.
type Tail struct {
	to   io.Writer
	last byte
}

func (tail *Tail) Write(text []byte) (int, error) {
	if len(text) > 0 {
		tail.last = text[len(text)-1]
	}
	return tail.to.Write(text)
}

// runProgram runs a test program, and reads what it prints as `go test -json` would.
func (run *Run) runProgram(program string, one *Package) error {
	converter := exec.Command(filepath.Join(filepath.Dir(os.Args[0]), converterName), "-t", "-p", one.path)
	converter.Stderr = os.Stderr
	input, err := converter.StdinPipe()
	if err != nil {
		return err
	}
	output, err := converter.StdoutPipe()
	if err != nil {
		return err
	}
	if err := converter.Start(); err != nil {
		return err
	}
	arguments := []string{"-test.paniconexit0", "-test.v=test2json", "-test.count=1", "-test.timeout=0s"}
	if pattern := run.pattern(); run.selected != nil && len(pattern) < longestPattern {
		arguments = append(arguments, "-test.run="+pattern)
	}
	folder := filepath.Join(run.root, one.folder)
	command := exec.Command(program, arguments...)
	command.Dir = folder
	search := filepath.Dir(run.goProgram)
	if path := os.Getenv("PATH"); path != "" {
		search += string(filepath.ListSeparator) + path
	}
	command.Env = append(os.Environ(), tokenKey+"="+run.Token, "PATH="+search, "PWD="+folder)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	tail := &Tail{to: input}
	command.Stdout, command.Stderr = tail, tail
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := command.Wait()
		tail.finish(one.path, err)
		_ = input.Close()
		ended <- err
	}()
	reader := bufio.NewReaderSize(output, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		var event Event
		isEvent := json.Unmarshal(line, &event) == nil
		// Whether a package passed is for the exit status to say.
		isEnd := event.Test == "" && event.Action != "output"
		if isEvent && !isEnd && run.take(event) && run.FirstFailureEnds {
			run.stopped = true
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
			_ = converter.Process.Kill()
			break
		}
		if err != nil {
			break
		}
	}
	_ = converter.Wait()
	if run.stopped {
		return nil
	}
	if err := <-ended; err == nil {
		run.passed = true
	}
	return nil
}

// finish adds what `go test` adds to what a test program printed.
func (tail *Tail) finish(path string, err error) {
	if err == nil {
		if tail.last != 0 && tail.last != '\n' {
			fmt.Fprintln(tail.to)
		}
		fmt.Fprintf(tail.to, "ok  \t%s\t0.000s\n", path)
		return
	}
	var status *exec.ExitError
	if tail.last == 0 || !errors.As(err, &status) || !status.Exited() {
		fmt.Fprintln(tail.to, err)
	} else if tail.last != '\n' {
		fmt.Fprintln(tail.to)
	}
	// A program that panics or exits may not say itself that it failed.
	fmt.Fprintf(tail.to, "\x16FAIL\t%s\t0.000s\n", path)
}
