// Says whether changed files of a Go project compile, as a long-lived process.
//
// It parses and checks text and runs none of it.  The types of other packages come
// from what `go build` has kept of them.  Only the package of a changed file is
// checked, without its tests: what needs that package then does not compile either.
// Whatever else a change breaks is for `go test` to say.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
)

// CheckedPackage is a package of the project.
type CheckedPackage struct {
	// Its path, as imports have it.
	path string
	// The version of the language that its module asks for, such as `go1.21`, or nothing.
	version string
	// Its folder within the repository.
	folder string
	// Its files without tests, by their paths in the repository; parsed when they are first needed.
	files map[string]*ast.File
	// Whether it compiles unchanged; nil until that is asked.
	sound *bool
}

// Checker checks packages one after the other.
type Checker struct {
	root     string
	files    *token.FileSet
	importer types.Importer
	// By the paths of their files in the repository.
	packages map[string]*CheckedPackage
}

// checkFiles answers a line for every line on the standard input.
func checkFiles(root string, arguments []string) error {
	// The first line, `{}`, instructs nothing.
	if _, err := readLine(os.Stdin); err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return unfit(err)
	}
	run := &Run{leftOut: map[string]bool{}}
	if err := run.prepare(arguments); err != nil {
		return unfit(err)
	}
	defer os.RemoveAll(run.scratch)
	checker, err := newChecker(run)
	if err != nil {
		return unfit(err)
	}
	if _, err := os.Stdin.WriteString("ready\n"); err != nil {
		return err
	}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var request struct{ Files map[string]string }
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		refused := []RefusedPackage{}
		for path, contents := range request.Files {
			refused = append(refused, checker.refused(path, contents)...)
		}
		answer, err := json.Marshal(map[string]any{"refused": refused})
		if err != nil {
			return err
		}
		if _, err := os.Stdin.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
}

// unfit says why nothing can be checked here.
func unfit(err error) error {
	reason, _, _ := strings.Cut(err.Error(), "\n")
	_, written := fmt.Fprintf(os.Stdin, "unfit %s\n", reason)
	return written
}

// newChecker finds the packages and what is kept of those that they import.
func newChecker(run *Run) (*Checker, error) {
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
		Module                  *struct {
			Main      bool
			GoVersion string
		}
	}
	// With `-export`, packages are compiled, and each has the path of the file with its types.
	all, err := list[listed](run, "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module")
	if err != nil {
		return nil, err
	}
	checker := &Checker{root: run.root, files: token.NewFileSet(), packages: map[string]*CheckedPackage{}}
	exports := map[string]string{}
	for _, one := range all {
		exports[one.ImportPath] = one.Export
		if one.Module == nil || !one.Module.Main {
			continue
		}
		folder, err := filepath.Rel(run.root, one.Dir)
		if err != nil {
			return nil, err
		}
		known := &CheckedPackage{path: one.ImportPath, folder: filepath.ToSlash(folder), files: map[string]*ast.File{}}
		if one.Module.GoVersion != "" {
			known.version = "go" + one.Module.GoVersion
		}
		for _, name := range one.GoFiles {
			file := filepath.ToSlash(filepath.Join(folder, name))
			known.files[file] = nil
			checker.packages[file] = known
		}
	}
	open := func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("nothing is kept of %s", path)
		}
		return os.Open(exports[path])
	}
	checker.importer = importer.ForCompiler(checker.files, "gc", open)
	return checker, nil
}

// RefusedPackage is a package that does not compile, as the report has it.
type RefusedPackage struct {
	Id      string `json:"id"`
	Message string `json:"message"`
}

// refused lists the package of a changed file if it does not compile with the change and did before.
func (checker *Checker) refused(path, contents string) []RefusedPackage {
	none := []RefusedPackage{}
	known := checker.packages[path]
	if known == nil || !checker.isIncluded(path, contents) {
		return none
	}
	for file, parsed := range known.files {
		if parsed == nil {
			text, err := os.ReadFile(filepath.Join(checker.root, file))
			if err == nil {
				known.files[file], err = checker.parse(file, text)
			}
			if err != nil {
				return none
			}
		}
	}
	message := ""
	changed, err := checker.parse(path, []byte(contents))
	if err != nil {
		message = sentences(err)
	} else {
		message = checker.typeErrors(known, path, changed)
	}
	if message == "" {
		return none
	}
	if known.sound == nil {
		sound := checker.typeErrors(known, path, known.files[path]) == ""
		known.sound = &sound
	}
	if !*known.sound {
		return none
	}
	return []RefusedPackage{{known.folder, limited(message)}}
}

// isIncluded reports whether the change leaves the file in its package: a constraint may take it out.
func (checker *Checker) isIncluded(path, contents string) bool {
	before, err := os.ReadFile(filepath.Join(checker.root, path))
	return err == nil && constraints(string(before)) == constraints(contents)
}

// constraints returns the lines that decide in which builds a file is.
func constraints(text string) string {
	var found []string
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "//go:build") || strings.HasPrefix(line, "// +build") || strings.HasPrefix(line, "//+build") {
			found = append(found, line)
		}
	}
	return strings.Join(found, "\n")
}

func (checker *Checker) parse(file string, text []byte) (*ast.File, error) {
	return parser.ParseFile(checker.files, file, text, parser.SkipObjectResolution|parser.ParseComments)
}

// sentences lists the errors of a parser.
func sentences(err error) string {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return err.Error()
	}
	var lines []string
	for _, one := range list {
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// typeErrors returns what is wrong with a package in which a file is replaced, a line for each error.
func (checker *Checker) typeErrors(known *CheckedPackage, path string, changed *ast.File) string {
	var lines []string
	// With a function for errors, the check goes on after the first one.
	settings := types.Config{
		GoVersion: known.version,
		Importer:  checker.importer,
		Sizes:     types.SizesFor("gc", runtime.GOARCH),
		Error:     func(err error) { lines = append(lines, err.Error()) },
	}
	var names []string
	for name := range known.files {
		names = append(names, name)
	}
	// A map has no order, and the errors' order is the files'.
	sort.Strings(names)
	var files []*ast.File
	for _, name := range names {
		parsed := known.files[name]
		if name == path {
			parsed = changed
		}
		files = append(files, parsed)
	}
	_, _ = settings.Check(known.path, checker.files, files, nil)
	return strings.Join(lines, "\n")
}
